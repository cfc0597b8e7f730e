import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import type { AnswerOf } from '../../endpoint.ts'
import type { showCheck } from '../../regression/show-check.ts'
import { flowChart } from '../charts/flow-chart.ts'
import { verdictBar } from '../charts/verdict-bar.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, count, percent } from '../parts.ts'
import type { Tone } from '../parts.ts'

export type Check = AnswerOf<typeof showCheck>
type Impact = NonNullable<Check['impacts']>[number]

/** What becomes of the recorded traces: from what their scores say to what the candidate asks of them. */
export function traceFlow({ verdicts_by_score: by, total_traces_analyzed: total }: Check): Markup {
  if (!by || !total) return html``
  const statuses = ['passing', 'failing', 'unscored'] as const
  const told = VERDICTS.flatMap((verdict) => {
    const n = statuses.reduce((sum, status) => sum + by[status][verdict], 0)
    return n > 0 ? [`${n} ${verdict}`] : []
  })
  return html`<section aria-labelledby="flow">
    <h2 id="flow">What becomes of the recorded traces</h2>
    <figure class="chart">
      <p class="flow-heads" aria-hidden="true">
        <span>By their scores now</span><span>Under the candidate</span>
      </p>
      ${flowChart(
        `${total} traces under the candidate: ${told.join(', ')}`,
        statuses.map((status) => ({ name: status, kind: `s-${status}` })),
        VERDICTS.map((verdict) => ({ name: verdict, kind: `v-${verdict}` })),
        statuses.map((status) => VERDICTS.map((verdict) => by[status][verdict])),
      )}
      <figcaption>
        <b>Keep</b>: still fits. <b>Repair</b>: its calls can be rewritten by rule. <b>Replay</b>:
        it has to run again. <b>Drop</b>: it cannot run again.
      </figcaption>
    </figure>
  </section>`
}

/** What each change does to the traces that use it, the worst first. */
export function impactTable(
  { impacts, total_traces_analyzed }: Check,
  project: string | undefined,
) {
  if (!impacts || impacts.length === 0) return html``
  const total = total_traces_analyzed ?? 0
  const sorted = impacts.toSorted(
    (a, b) =>
      RANKS.indexOf(a.severity) - RANKS.indexOf(b.severity) ||
      b.affected_trace_count - a.affected_trace_count,
  )
  return html`<section aria-labelledby="impacts">
    <h2 id="impacts">By component</h2>
    <table class="rows impacts" data-rows>
      <thead>
        <tr>
          <th>Risk</th>
          <th>Component</th>
          <th class="num">Used by</th>
          <th>What it asks of them</th>
          <th>Traces</th>
        </tr>
      </thead>
      <tbody>
        ${sorted.slice(0, MAX_IMPACTS).map((impact) => impactRow(impact, total, project))}
      </tbody>
    </table>
    ${sorted.length > MAX_IMPACTS && html`<p class="quiet">${sorted.length - MAX_IMPACTS} further changes are not shown.</p>`}
  </section>`
}

function impactRow(impact: Impact, total: number, project: string | undefined) {
  const { affected_trace_count: affected, eval_breakdown: by, verdicts } = impact
  const query = project ? `?project=${encodeURIComponent(project)}` : ''
  return html`<tr>
    <td>${badge(impact.severity, TONES[impact.severity])}</td>
    <td>
      <b><bdi>${impact.surface_name.slice(0, 120)}</bdi></b>
      <p class="quiet">${impact.surface_change_type.replaceAll('_', ' ')}</p>
    </td>
    <td class="num">
      ${count(affected)}${total > 0 && html` of ${count(total)}`}
      ${affected > 0 && html`<p class="quiet">${percent(affected, total)} · ${count(by.passing_affected)} passing</p>`}
    </td>
    <td class="asks">
      ${verdicts ? verdictBar(verdicts) : html`<span class="quiet">not told</span>`}
    </td>
    <td class="sample">
      ${impact.sample_trace_ids.slice(0, 4).map((id, i) => html`<a href="/console/traces/${encodeURIComponent(id)}${query}" ${i === 0 && html` data-row`}><code>${id.slice(0, 60)}</code></a> `)}
    </td>
  </tr>`
}

const MAX_IMPACTS = 40
const RANKS = ['high', 'medium', 'low']
const TONES: Readonly<Record<Impact['severity'], Tone>> = {
  high: 'bad',
  medium: 'warning',
  low: 'plain',
}
