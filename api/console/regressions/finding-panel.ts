import type { AnswerOf } from '../../endpoint.ts'
import type { diffManifests } from '../../manifests/diff-manifests.ts'
import type { showBisect } from '../../regression/show-bisect.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Visit } from '../page.ts'
import { ago, badge, sendButton, stateBadge } from '../parts.ts'
import type { Tone } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'

type Finding = AnswerOf<typeof showBisect>['findings'][number]
type Diff = NonNullable<AnswerOf<typeof diffManifests>['diff']>

/** A regression: how much worse, how sure, what the version changed, and traces that show it. */
export function findingPanel(
  finding: Finding,
  change: Diff | undefined,
  {
    mayWrite,
    now,
    project,
  }: Pick<Visit, 'mayWrite' | 'now'> & { readonly project: string | undefined },
): Markup {
  const { id, status, version_label: version, trace_sample_ids: samples } = finding
  const [sample] = samples
  return html`<section class="finding ${status}" aria-labelledby="f-${id}">
    <div>
      <h2 id="f-${id}">${headline(finding)}</h2>
      <p>${stateBadge(status)} ${explain(finding)}</p>
      <p class="quiet">
        Found ${ago(finding.detected_at, now)} · p ${finding.p_value.toExponential(1)} · q
        ${finding.q_value.toExponential(1)}
      </p>
      ${finding.resolved_at && html`<p class="quiet">Resolved ${ago(finding.resolved_at, now)}: ${finding.resolution}. <bdi>${finding.resolution_note}</bdi></p>`}
      <p class="actions">
        ${mayWrite && status === 'open' && sendButton('Mark as resolved', `POST /agents/${encodeURIComponent(finding.agent_name)}/bisect/findings/${id}/resolve`, { kind: 'primary' })}
        ${sample && html`<a class="button" href="${tracePath({ trace_id: sample, project })}">See a trace that got worse</a>`}
      </p>
    </div>
    ${change && changes(version, change)}
    ${
      samples.length > 0 &&
      html`<div class="samples">
        <h3>Traces that got worse</h3>
        <p>
          ${samples.slice(0, 10).map((trace) => html`<a href="${tracePath({ trace_id: trace, project })}"><code>${trace}</code></a> `)}
        </p>
      </div>`
    }
  </section>`
}

function headline({ version_label, previous_version_label, delta, relative_delta }: Finding) {
  const much =
    relative_delta === null
      ? `${Math.abs(delta).toFixed(2)} lower`
      : `${Math.abs(relative_delta * 100).toFixed(0)} % worse`
  const before = previous_version_label === null ? '' : ` than ${previous_version_label}`
  return `${version_label} is ${much}${before}`
}

function explain({ delta, q_value, candidate_version_labels: suspects, manifest_id }: Finding) {
  const since = manifest_id === null ? 'It began within' : 'With 90 % probability it came with'
  return html`The mean changed by <b>${delta.toFixed(3)}</b>. Chance alone would show this
    ${oddsOf(q_value)}. ${since} <b>${suspects.join(' or ')}</b>.`
}

/** Nobody reads more than two digits of odds. */
function oddsOf(q: number) {
  if (q < 1e-4) return 'less than once in 10,000 looks'
  return `once in ${Number((1 / q).toPrecision(2)).toLocaleString('en-US')} looks`
}

function changes(version: string, { changed_surfaces: surfaces }: Diff) {
  return html`<div class="change">
    <h3>What ${version} changed</h3>
    <ul>
      ${surfaces.slice(0, MAX_SURFACES).map(
        ({ severity, component_type, component_name, new_name, details }) =>
          html`<li>
            ${badge(severity, SEVERITY[severity])} <b>${component_type.replaceAll('_', ' ')}</b>
            <bdi>${component_name}</bdi
            >${new_name && html` <span aria-label="became">→</span> <bdi>${new_name}</bdi>`}
            <p class="quiet"><bdi>${details.slice(0, 300)}</bdi></p>
          </li>`,
      )}
    </ul>
    ${surfaces.length > MAX_SURFACES && html`<p class="quiet">and ${surfaces.length - MAX_SURFACES} more</p>`}
  </div>`
}

const MAX_SURFACES = 6
const SEVERITY: Readonly<Record<string, Tone>> = { major: 'bad', moderate: 'warning' }
