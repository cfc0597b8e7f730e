import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import { count, plural } from '../parts.ts'
import type { Check } from './check-impacts.ts'

/** What else rests on what the candidate changes. */
export function downstream({ downstream_impact: impact }: Check): Markup {
  if (!impact) return html``
  const { evaluators, datasets, subagents, skills } = impact
  const isNothing =
    evaluators.stale_count +
      datasets.affected_dataset_version_count +
      skills.affected_agent_count ===
      0 && subagents.broken_handoffs.length === 0
  return html`<section aria-labelledby="downstream">
    <h2 id="downstream">Downstream</h2>
    ${
      isNothing
        ? html`<p class="calm">✓ Nothing else rests on what changes.</p>`
        : html`<div class="cards downstream">
            ${card('Agents', subagents.broken_handoffs.length, 'hand-off breaks', 'hand-offs break', handoffs(subagents))}
            ${card('Datasets', datasets.affected_dataset_version_count, 'version has rows that cannot stay', 'versions have rows that cannot stay', html`${plural(datasets.total_rows_invalidated, 'row')} ${names(datasets.sample_dataset_names)}`)}
            ${card('Evaluators', evaluators.stale_count, 'scored traces that use what changes', 'scored traces that use what changes', names(evaluators.sample_evaluator_names))}
            ${card('Skills', skills.affected_agent_count, 'other agent has them', 'other agents have them', names([...skills.skills_changed, ...skills.sample_agent_names]))}
          </div>`
    }
  </section>`
}

function card(title: string, n: number, one: string, many: string, more: Part) {
  if (n === 0) return ''
  return html`<div class="card">
    <h3>${title}</h3>
    <p><b>${count(n)}</b> ${n === 1 ? one : many}</p>
    <div class="quiet">${more}</div>
  </div>`
}

function handoffs({ broken_handoffs: all }: NonNullable<Check['downstream_impact']>['subagents']) {
  return html`<ul>
    ${all.slice(0, SHOWN).map(({ subagent_name, surface_diff: { orchestrator, change_type } }) =>
      orchestrator === undefined
        ? html`<li><bdi>${subagent_name}</bdi>: ${change_type.replaceAll('_', ' ')}</li>`
        : html`<li>
            <a class="link" href="/console/agents/${encodeURIComponent(orchestrator)}"
              ><bdi>${orchestrator}</bdi></a
            >
            pins <bdi>${subagent_name}</bdi> to another version
          </li>`,
    )}
    ${all.length > SHOWN && html`<li>and ${count(all.length - SHOWN)} more</li>`}
  </ul>`
}

function names(all: readonly string[]) {
  const shown = all
    .slice(0, SHOWN)
    .map((name) => html`<span class="tag"><bdi>${name.slice(0, 60)}</bdi></span> `)
  return html`<p class="names">${shown}</p>`
}

const SHOWN = 8
