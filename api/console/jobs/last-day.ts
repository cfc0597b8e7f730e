import type { AnswerOf } from '../../endpoint.ts'
import type { showJobStats } from '../../jobs/show-job-stats.ts'
import { hourBars } from '../charts/hour-bars.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, count, duration, facts, withQuery } from '../parts.ts'
import { jobTitle } from './kinds.ts'

type Stats = AnswerOf<typeof showJobStats>
type KindStats = Stats['by_kind'][number]
type Sums = Pick<
  KindStats,
  'succeeded' | 'failed' | 'canceled' | 'wait_seconds' | 'queued' | 'oldest_waiting_seconds'
>

/**
 * How long jobs waited and how many ended in the last day, in all and by kind.
 * @param path of the list that a kind leads to
 */
export function lastDay(stats: Stats, path: string): Markup {
  const { by_kind, by_hour, running, cancelling } = stats
  if (by_kind.length === 0) {
    return html`<section class="card last-day" aria-labelledby="last-day">
      <h2 id="last-day">The last day</h2>
      <p class="quiet">No job ended in it and none waits: how long they wait shows here.</p>
    </section>`
  }
  const summary = `Jobs that ended in each of the last ${by_hour.length} hours: ${endedOf(stats)} in all`
  return html`<section class="card last-day" aria-labelledby="last-day">
    <h2 id="last-day">The last day</h2>
    <div class="figures">
      ${facts({
        Ended: endings(stats),
        'Waited for a worker': spread(stats.wait_seconds),
        Took: spread(stats.run_seconds),
        Running: count(running + cancelling),
        Waiting: waiting(stats),
      })}
      <figure>${hourBars(by_hour, summary)}</figure>
    </div>
    <details>
      <summary>By kind <span class="quiet">${by_kind.length}</span></summary>
      <table class="rows by-kind">
        <thead>
          <tr>
            <th>Kind</th>
            <th class="num">Ended</th>
            <th class="num">Waited</th>
            <th class="num">Took</th>
            <th class="num">Running</th>
            <th class="num">Waiting</th>
          </tr>
        </thead>
        <tbody>
          ${by_kind.map((kind) => kindRow(kind, path))}
        </tbody>
      </table>
    </details>
  </section>`
}

function kindRow(stats: KindStats, path: string) {
  const { kind, running, cancelling, queued } = stats
  const busy = running + cancelling
  return html`<tr>
    <td class="what"><a href="${withQuery(path, { kind })}">${jobTitle(kind)}</a></td>
    <td class="num"><span class="label">ended </span>${endings(stats)}</td>
    <td class="num"><span class="label">waited </span>${spread(stats.wait_seconds)}</td>
    <td class="num"><span class="label">took </span>${spread(stats.run_seconds)}</td>
    <td class="num ${busy === 0 && 'wide'}"><span class="label">running </span>${count(busy)}</td>
    <td class="num ${queued === 0 && 'wide'}">
      <span class="label">waiting </span>${waiting(stats)}
    </td>
  </tr>`
}

function endings(stats: Sums) {
  const { failed, canceled } = stats
  return html`${count(endedOf(stats))}${failed > 0 && html` ${badge(`${count(failed)} failed`, 'bad')}`}${canceled > 0 && html` ${badge(`${count(canceled)} canceled`)}`}`
}

function endedOf({ succeeded, failed, canceled }: Pick<Sums, 'succeeded' | 'failed' | 'canceled'>) {
  return succeeded + failed + canceled
}

/** Half of them below the first figure, 95 % below the second. */
function spread(seconds: Sums['wait_seconds']) {
  if (!seconds) return '–'
  return html`${duration(seconds.p50 * 1000)} <small>95 % ≤ ${duration(seconds.p95 * 1000)}</small>`
}

function waiting({ queued, oldest_waiting_seconds: oldest }: Sums) {
  if (oldest === null) return count(queued)
  return html`${count(queued)} <small>for up to ${duration(oldest * 1000)}</small>`
}
