import { deltaChart, deltaScale } from '../charts/delta-chart.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, count } from '../parts.ts'
import type { Tone } from '../parts.ts'
import type { Check } from './check-impacts.ts'

type Metric = NonNullable<Check['metrics']>[number]

/** Each metric under both versions, with the interval of its change and the smallest drop that would show. */
export function metricTable({ metrics }: Check): Markup {
  if (!metrics) return html``
  if (metrics.length === 0)
    return html`<section aria-labelledby="metrics">
      <h2 id="metrics">Metrics</h2>
      <p class="quiet">
        The candidate has no traces with scores of its own yet, so nothing can be compared. Replay
        some recorded traces under it, or let it run.
      </p>
    </section>`
  const sorted = metrics.toSorted((a, b) => RANKS.indexOf(a.verdict) - RANKS.indexOf(b.verdict))
  const x = deltaScale(metrics)
  return html`<section aria-labelledby="metrics">
    <h2 id="metrics">Metrics</h2>
    <table class="rows metrics">
      <thead>
        <tr>
          <th>Metric</th>
          <th class="num">Before</th>
          <th class="num">Candidate</th>
          <th class="num">Change</th>
          <th>With 95 % interval</th>
          <th class="num">Smallest drop seen</th>
          <th>Verdict</th>
        </tr>
      </thead>
      <tbody>
        ${sorted.slice(0, MAX_METRICS).map((metric) => metricRow(metric, x))}
      </tbody>
    </table>
    <p class="quiet">
      The line stands where nothing would have changed, the dashed one at the smallest drop that
      this traffic could have shown, four times of
      five.${sorted.length > MAX_METRICS && html` ${sorted.length - MAX_METRICS} further metrics are not shown.`}
    </p>
  </section>`
}

function metricRow(metric: Metric, x: (value: number) => number) {
  const { delta, ci, mde, verdict, needed_n } = metric
  return html`<tr>
    <td>
      <b><bdi>${metric.metric.slice(0, 80)}</bdi></b>
      <p class="quiet">${DESIGNS[metric.design]}${!metric.gating && ' · for information'}</p>
    </td>
    <td class="num" data-label="before">
      ${metric.mean_baseline.toFixed(3)}
      <p class="quiet">n ${count(metric.n_baseline)}</p>
    </td>
    <td class="num" data-label="candidate">
      ${metric.mean_candidate.toFixed(3)}
      <p class="quiet">n ${count(metric.n_candidate)}</p>
    </td>
    <td class="num" data-label="change">
      ${delta > 0 && '+'}${delta.toFixed(3)}
      ${ci && html`<p class="quiet">${ci.map((bound) => bound.toFixed(2)).join(' … ')}</p>`}
    </td>
    <td class="with-chart">${deltaChart(metric, x)}</td>
    <td class="num" data-label="smallest drop">${mde === null ? '–' : mde.toFixed(3)}</td>
    <td>
      ${badge(verdict, TONES[verdict])}${needed_n !== null && html`<p class="quiet">needs ${count(needed_n)} traces</p>`}
    </td>
  </tr>`
}

const MAX_METRICS = 30
const RANKS = ['regressed', 'inconclusive', 'improved', 'pass']
const TONES: Readonly<Record<Metric['verdict'], Tone>> = {
  regressed: 'bad',
  inconclusive: 'warning',
  improved: 'good',
  pass: 'good',
}
const DESIGNS: Readonly<Record<Metric['design'], string>> = {
  paired_replay: 'replays of the same traces',
  stratified: 'task by task',
  unpaired: 'all traces',
}
