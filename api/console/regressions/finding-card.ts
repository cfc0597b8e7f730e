import type { AnswerOf } from '../../endpoint.ts'
import type { diffManifests } from '../../manifests/diff-manifests.ts'
import type { showBisect } from '../../regression/show-bisect.ts'
import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import { ago, plural, stateBadge, withQuery } from '../parts.ts'
import { changeList } from '../change-list.ts'

type Finding = AnswerOf<typeof showBisect>['findings'][number]
type Diff = NonNullable<AnswerOf<typeof diffManifests>['diff']>

interface Place {
  readonly project: string | undefined
  readonly now: Date
  readonly mayWrite: boolean
  /** What the version changed; undefined where that was not asked. */
  readonly change: Diff | undefined
}

/** A regression: how much worse, how sure that is, what its version changed, and traces to look at. */
export function findingCard(finding: Finding, { project, now, mayWrite, change }: Place): Markup {
  const { id, status, version_label, trace_sample_ids } = finding
  const traceLink = (trace: string) =>
    withQuery(`/console/traces/${encodeURIComponent(trace)}`, { project })
  return html`<section class="finding ${status}" aria-labelledby="f-${id}">
    <div class="told">
      <h2 id="f-${id}">${titleOf(finding)} ${stateBadge(status)}</h2>
      <p>${sentenceOf(finding)}</p>
      <p class="quiet">
        Found ${ago(finding.detected_at, now)} · p ${small(finding.p_value)} · q
        ${small(finding.q_value)}
      </p>
      ${finding.resolved_at && html`<p>${RESOLUTIONS[finding.resolution ?? '']} ${ago(finding.resolved_at, now)}${finding.resolution_note && html`: <bdi>${finding.resolution_note}</bdi>`}</p>`}
      ${mayWrite && status === 'open' && resolveForm(finding)}
    </div>
    ${
      change &&
      html`<div class="change">
        <h3>What ${version_label} changed</h3>
        ${changeList(change.changed_surfaces, 6)}
        <p>
          <a
            class="link"
            href="${withQuery(`/console/manifests/${change.new_manifest_id}`, { against: change.old_manifest_id })}"
            >Side by side</a
          >
        </p>
      </div>`
    }
    ${
      trace_sample_ids.length > 0 &&
      html`<details class="samples" ${status === 'open' && html` open`}>
        <summary><h3>${plural(trace_sample_ids.length, 'trace')} that got worse</h3></summary>
        <ul data-rows>
          ${trace_sample_ids.slice(0, 10).map(
            (trace) =>
              html`<li>
                <a data-row href="${traceLink(trace)}"><code>${trace}</code></a>
              </li>`,
          )}
        </ul>
      </details>`
    }
  </section>`
}

function titleOf({ manifest_id, version_label, previous_version_label, ...by }: Finding) {
  const share = by.relative_delta === null ? by.delta : by.relative_delta * 100
  const how = by.relative_delta === null ? share.toFixed(2) : `${Math.abs(share).toFixed(0)} %`
  if (!manifest_id) return `A drift of ${how} while ${version_label} was active`
  return `${version_label} is ${how} worse than ${previous_version_label ?? 'before'}`
}

function sentenceOf({ metric, delta, q_value, manifest_id, ...by }: Finding) {
  const changed = html`${metricName(metric)} changed by <b>${delta.toFixed(3)}</b>. Chance alone
    would show this ${oddsOf(q_value)}.`
  if (!manifest_id)
    return html`${changed} The change does not coincide with a version: look at the prompt, the data
    and what the tools answer.`
  return html`${changed} With a probability of 90 % it came with
    <b>${by.candidate_version_labels.join(' or ')}</b>.`
}

function resolveForm({ id, agent_name }: Finding) {
  const action = `/agents/${encodeURIComponent(agent_name)}/bisect/findings/${id}/resolve`
  return html`<div class="actions">
    <button type="button" class="button primary" data-open="resolve-${id}">Resolve</button>
    <dialog id="resolve-${id}" aria-labelledby="resolve-title-${id}">
      <h2 id="resolve-title-${id}">What became of it?</h2>
      <form class="form" data-send="POST /api/v1${action}">
        <label
          >Note<textarea name="note" maxlength="4000" placeholder="Rolled back in …"></textarea>
        </label>
        <p role="alert" class="error"></p>
        <div class="actions">
          <button class="button primary">Mark as resolved</button
          ><button type="button" class="button" data-close>Cancel</button>
        </div>
      </form>
    </dialog>
  </div>`
}

/** What people call a metric. */
export function metricName(metric: string): Part {
  return metric === 'quality_avg' ? 'Quality' : html`<bdi>${metric}</bdi>`
}

/** Nobody reads more than two digits of odds. */
function oddsOf(q: number) {
  if (q < 1e-4) return 'less than once in 10,000 looks'
  return `once in ${Number((1 / q).toPrecision(2)).toLocaleString('en-US')} looks`
}

function small(p: number) {
  return p < 0.001 ? p.toExponential(1) : p.toFixed(3)
}

const RESOLUTIONS: Readonly<Record<string, string>> = {
  recovered: 'A later version was as good again',
  reverted: 'An earlier version was active again',
  manual: 'Resolved by a person',
}
