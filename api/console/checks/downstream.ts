import type { DownstreamImpact } from '../../../jobs/rules/regression/check-findings.ts'
import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import { plural } from '../parts.ts'

/** What else rests on what the candidate changes: evaluators, datasets, agents it works with, skills. */
export function downstream(impact: DownstreamImpact): Markup {
  const { evaluators, datasets, subagents, skills } = impact
  const { broken_handoffs: handoffs } = subagents
  const found = [
    evaluators.stale_count > 0 &&
      item(
        plural(evaluators.stale_count, 'evaluator'),
        'judged what changes',
        evaluators.sample_evaluator_names,
      ),
    datasets.affected_dataset_version_count > 0 &&
      item(
        plural(datasets.affected_dataset_version_count, 'dataset version'),
        `${plural(datasets.total_rows_invalidated, 'row')} no longer fit`,
        datasets.sample_dataset_names,
      ),
    handoffs.length > 0 &&
      item(
        plural(handoffs.length, 'hand-off'),
        'breaks',
        handoffs.map(({ subagent_name }) => subagent_name),
      ),
    skills.affected_agent_count > 0 &&
      item(
        plural(skills.affected_agent_count, 'agent'),
        'shares a changed skill',
        skills.sample_agent_names,
      ),
  ]
  if (!found.some(Boolean)) return html``
  return html`<section aria-labelledby="downstream">
    <h2 id="downstream">What else rests on it</h2>
    <ul class="cards">
      ${found}
    </ul>
  </section>`
}

function item(what: Part, why: Part, names: readonly string[]) {
  return html`<li class="card">
    <p><b>${what}</b> <span class="quiet">${why}</span></p>
    <p>${names.slice(0, 8).map((name) => html`<span class="tag"><bdi>${name}</bdi></span> `)}</p>
  </li>`
}
