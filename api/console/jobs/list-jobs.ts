import { JOB_STATES } from '../../../jobs/rules/jobs/job-state.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listJobs } from '../../jobs/list-jobs.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import {
  ago,
  amount,
  duration,
  emptyState,
  pager,
  stateBadge,
  tabs,
  totalOf,
  withQuery,
} from '../parts.ts'

const PATH = '/console/jobs'

export const listJobsPage = page('/jobs', {
  area: 'jobs',
  async show(visit) {
    const { state, kind } = visit.query
    const list = await readJobs(visit)
    const states = [undefined, ...JOB_STATES].map((word) => ({
      text: word ?? 'all',
      href: withQuery(PATH, { state: word, kind }),
      isCurrent: state === word,
    }))
    const chosen = kind && html`<a class="tag" href="${withQuery(PATH, { state })}">${kind} ✕</a>`
    return {
      title: 'Jobs',
      body: html`${tabs('States', states, html`${chosen} ${totalOf(list, 'job')}`)}
      ${livePanel(withQuery(`${PATH}/events`, visit.query), panelOf(list, visit))}
      ${pager(PATH, visit.query, list.next_cursor)}`,
    }
  },
})

export const jobsEvents = panelEvents('/jobs/events', async (visit) =>
  panelOf(await readJobs(visit), { ...visit, now: visit.call.context.now() }),
)

function readJobs({ ask, query }: Visit) {
  const { state, kind, cursor } = query
  return ask(listJobs, { query: { state, kind, cursor, limit: 50 } })
}

/** The first page stays live, since further jobs may come. */
function panelOf({ jobs }: JobList, { query, now }: Visit): Panel {
  return {
    isDone: query['cursor'] !== undefined || jobs.every(({ done }) => done),
    markup: jobs.length === 0 ? nothing(query['state']) : rows(jobs, now),
  }
}

function rows(jobs: JobList['jobs'], now: Date): Markup {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>State</th>
        <th>Kind</th>
        <th>Progress</th>
        <th class="num">Attempt</th>
        <th class="num">Waited</th>
        <th class="num">Ran for</th>
        <th class="num">Created</th>
      </tr>
    </thead>
    <tbody>
      ${jobs.map((job) => {
        const { created_at, started_at, finished_at } = job
        const waitedMs = (started_at ?? finished_at ?? now).getTime() - created_at.getTime()
        const ranMs = started_at && (finished_at ?? now).getTime() - started_at.getTime()
        return html`<tr>
          <td>${stateBadge(job.state)}</td>
          <td>
            <a data-row href="${PATH}/${job.id}">${job.kind}</a>
            ${job.error && html`<p class="error"><bdi>${job.error.message.slice(0, 200)}</bdi></p>`}
          </td>
          <td>${progressOf(job)}</td>
          <td class="num wide">${job.attempt}</td>
          <td class="num wide">${duration(waitedMs)}</td>
          <td class="num">${duration(ranMs)}</td>
          <td class="num quiet">${ago(created_at, now)}</td>
        </tr>`
      })}
    </tbody>
  </table>`
}

function progressOf({ done: isDone, progress: { done, percent, unit } }: JobList['jobs'][number]) {
  if (percent === null || isDone) {
    return html`<span class="quiet">${done > 0 ? amount(done, unit) : '–'}</span>`
  }
  return html`<progress value="${percent}" max="100" aria-label="Progress"></progress> ${percent} %`
}

function nothing(state: string | undefined) {
  return emptyState(
    state ? `No job is ${state}` : 'No jobs yet',
    'Imports, builds, checks and analyses run as jobs and are shown here while they do. Jobs that judge traces by themselves are not listed.',
    state && html`<a class="button" href="${PATH}">All jobs</a>`,
  )
}

type JobList = AnswerOf<typeof listJobs>
