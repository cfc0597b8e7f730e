import { JOB_STATES, OPEN_JOB_STATES } from '../../../jobs/rules/jobs/job-state.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listJobs } from '../../jobs/list-jobs.ts'
import { showJobStats } from '../../jobs/show-job-stats.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Query, Visit } from '../page.ts'
import {
  ago,
  amount,
  choice,
  count,
  duration,
  emptyState,
  pager,
  stateBadge,
  tabs,
  withQuery,
} from '../parts.ts'
import { JOB_TITLES, jobTitle } from './kinds.ts'
import { lastDay } from './last-day.ts'
import { paceOf } from './pace.ts'

const PATH = '/console/jobs'
type JobList = AnswerOf<typeof listJobs>

export const listJobsPage = page('/jobs', {
  area: 'jobs',
  async show(visit) {
    const { query, now } = visit
    const [stats, list] = await Promise.all([visit.ask(showJobStats), read(visit)])
    const isFiltered = Boolean(query['kind'] ?? query['state'])
    return {
      title: 'Jobs',
      body: html`${lastDay(stats, PATH)} ${filters(query, list)}
      ${list.jobs.length === 0 ? nothing(isFiltered) : html`${livePanel(withQuery(`${PATH}/events`, query), jobRows(list, now))}${pager(PATH, query, list.next_cursor)}`}
      ${query['state'] === 'failed' && deadLetters()}`,
    }
  },
})

/** The rows while any of them is under way. */
export const jobsEvents = panelEvents('/jobs/events', async (visit) =>
  jobRows(await read(visit), visit.call.context.now()),
)

function read({ ask, query: { state, kind, cursor } }: Visit) {
  return ask(listJobs, { query: { state, kind, cursor, limit: 30 } })
}

function filters(query: Query, list: JobList): Markup {
  const { state, kind } = query
  const tab = (word: string | undefined) => ({
    text: word ?? 'All',
    href: withQuery(PATH, { kind, state: word }),
    isCurrent: state === word,
  })
  const kinds = Object.entries(JOB_TITLES).map(([value, text]) => ({ value, text }))
  return tabs(
    'States',
    [undefined, ...JOB_STATES].map(tab),
    html`<form action="${PATH}">
        ${state && html`<input type="hidden" name="state" value="${state}" />`}
        ${choice('kind', 'Kind', kinds, kind)}
        <noscript><button class="button">Filter</button></noscript>
      </form>
      <span
        >${count(list.total)}${list.total_is_capped && '+'}
        ${list.total === 1 ? 'job' : 'jobs'}</span
      >`,
  )
}

function jobRows({ jobs }: JobList, now: Date): Panel {
  return {
    isDone: !jobs.some(({ state }) => OPEN.has(state)),
    markup: html`<table class="rows jobs" data-rows>
      <thead>
        <tr>
          <th>State</th>
          <th>Job</th>
          <th>Progress</th>
          <th class="num">Waited</th>
          <th class="num">Took</th>
          <th class="num">Attempt</th>
          <th class="num">Asked for</th>
        </tr>
      </thead>
      <tbody>
        ${jobs.map((job) => jobRow(job, now))}
      </tbody>
    </table>`,
  }
}

function jobRow(job: JobList['jobs'][number], now: Date) {
  const { id, kind, state, attempt, error, started_at, created_at } = job
  const { tookMs, waitedMs } = paceOf(job, now)
  return html`<tr>
    <td>${stateBadge(state)}</td>
    <td class="what">
      <a data-row href="${PATH}/${id}">${jobTitle(kind)}</a>
      ${error ? html`<p class="error"><bdi>${error.message.slice(0, 160)}</bdi></p>` : html`<p class="quiet"><code>${kind}</code></p>`}
    </td>
    <td class="progress">${progressOf(job)}</td>
    <td class="num"><span class="label">waited </span>${duration(waitedMs)}</td>
    <td class="num">
      ${started_at && state !== 'queued' ? html`<span class="label">took </span>${duration(tookMs)}` : html`<span class="quiet">–</span>`}
    </td>
    <td class="num"><span class="label">attempt </span>${attempt}</td>
    <td class="num quiet">${ago(created_at, now)}</td>
  </tr>`
}

function progressOf({ state, error, progress, kind }: JobList['jobs'][number]) {
  const { percent, done, total, unit } = progress
  if (state === 'queued') {
    return html`<span class="quiet">waits for ${error ? 'its next attempt' : 'a worker'}</span>`
  }
  if (percent === null) {
    return html`<span class="quiet">${done > 0 ? amount(done, unit) : '–'}</span>`
  }
  if (state === 'succeeded') return amount(total, unit)
  return html`<progress value="${percent}" max="100" aria-label="${jobTitle(kind)}"></progress>
    <b>${percent.toFixed(0)} %</b> <span class="quiet">of ${amount(total, unit)}</span>`
}

function nothing(isFiltered: boolean) {
  if (isFiltered) {
    return emptyState(
      'No job matches',
      'Jobs can be read for 30 days after their end.',
      html`<a class="button" href="${PATH}">All jobs</a>`,
    )
  }
  return emptyState(
    'No jobs yet',
    'Imports, builds, analyses and other long work run as jobs, and show here while they do.',
    html`<a class="button primary" href="/console/imports">Import traces</a>`,
  )
}

/** What no key can do. */
function deadLetters() {
  return html`<p class="quiet note">
    A failed job of yours can be run again on its page. The dead letters of a whole queue are
    brought back by the operators of this service, on the command line alone:
    <code>npx node ops/admin.ts dead-letters redrive NAME</code>.
  </p>`
}

const OPEN: ReadonlySet<string> = new Set(OPEN_JOB_STATES)
