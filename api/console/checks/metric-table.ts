import type { MetricCheck } from '../../../jobs/rules/regression/metric-check.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, count } from '../parts.ts'
import type { Tone } from '../parts.ts'

/** Each metric under both versions; the change stands on a line around zero, with its 95 % interval. */
export function metricTable(metrics: readonly MetricCheck[]): Markup {
  const shown = metrics.slice(0, MAX_METRICS)
  const widest = Math.max(
    0.05,
    ...shown.flatMap(({ delta, ci }) => [delta, ...(ci ?? [])]).map(Math.abs),
  )
  const x = (value: number) => `${(50 + (value / widest) * 48).toFixed(2)}%`
  return html`<section aria-labelledby="metrics">
    <h2 id="metrics">Metrics</h2>
    <table class="rows metrics">
      <thead>
        <tr>
          <th>Metric</th>
          <th>Verdict</th>
          <th class="num">Before</th>
          <th class="num">Candidate</th>
          <th class="change-line">Change, with its 95 % interval</th>
          <th class="num">Could be seen from</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map(
          (metric) =>
            html`<tr>
              <td>
                <bdi>${metric.metric}</bdi>
                <p class="quiet">
                  ${count(metric.n_baseline)} and ${count(metric.n_candidate)}
                  traces${metric.gating && ' · gating'}
                </p>
              </td>
              <td>${badge(metric.verdict, TONES[metric.verdict])}</td>
              <td class="num">${metric.mean_baseline.toFixed(3)}</td>
              <td class="num">${metric.mean_candidate.toFixed(3)}</td>
              <td class="change-line">${line(metric, x)}</td>
              <td class="num">${metric.mde?.toFixed(3) ?? '–'}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`
}

function line({ delta, ci, verdict }: MetricCheck, x: (value: number) => string) {
  const told = `${signed(delta)}${ci ? `, between ${signed(ci[0])} and ${signed(ci[1])}` : ''}`
  return html`<svg class="of-${verdict}" width="100%" height="20" role="img" aria-label="${told}">
      <line class="zero" x1="50%" x2="50%" y2="20" />
      ${ci && html`<line class="range" x1="${x(ci[0])}" x2="${x(ci[1])}" y1="10" y2="10" />`}
      <circle cx="${x(delta)}" cy="10" r="4.5" /></svg
    ><span>${told}</span>`
}

function signed(value: number) {
  return `${value > 0 ? '+' : ''}${value.toFixed(3)}`
}

const MAX_METRICS = 50
const TONES: Readonly<Record<MetricCheck['verdict'], Tone>> = {
  regressed: 'bad',
  improved: 'good',
  pass: 'good',
  inconclusive: 'plain',
}
