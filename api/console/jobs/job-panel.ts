import type { AnswerOf } from '../../endpoint.ts'
import type { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Panel } from '../live.ts'
import type { Visit } from '../page.ts'
import { amount, count, duration, facts, sendButton, stateBadge } from '../parts.ts'

type Job = Exclude<AnswerOf<typeof showJob>, null>

/** What changes of a job while it runs. */
export function jobPanel(job: Job, { now, mayWrite }: Pick<Visit, 'now' | 'mayWrite'>): Panel {
  return {
    isDone: job.done,
    markup: html`<div class="job-head">
        <p>
          ${stateBadge(job.cancel_requested_at && !job.done ? 'cancelling' : job.state)}
          <span class="quiet">${job.progress.note}</span>
        </p>
        ${mayWrite && html`<div class="actions">${actionsOf(job)}</div>`}
      </div>
      ${meter(job)} ${timesOf(job, now)} ${job.error && errorOf(job.error)}
      ${job.result && resultOf(job.result)} ${attemptsOf(job, now)}`,
  }
}

function actionsOf(job: Job) {
  if (!job.done) return sendButton('Cancel', `POST /jobs/${job.id}/cancel`)
  const mayRepeat = job.state === 'failed' || job.state === 'canceled'
  return (
    mayRepeat &&
    sendButton('Run again', `POST /jobs/${job.id}/retry`, {
      then: '/console/jobs/{id}',
      kind: 'primary',
    })
  )
}

function meter({ state, done, progress }: Job) {
  const { total, unit, percent } = progress
  if (state === 'succeeded' || (percent === null && done)) return ''
  if (percent === null) {
    return html`<div class="meter">
      <p class="big">${amount(progress.done, unit)}</p>
      <progress aria-label="Working"></progress>
    </div>`
  }
  return html`<div class="meter">
    <p class="big">${percent.toFixed(1)}<small> %</small></p>
    <progress value="${percent}" max="100" aria-label="Progress of the job"></progress>
    <p class="quiet">${amount(progress.done, unit)} of ${amount(total, unit)}</p>
  </div>`
}

function timesOf({ created_at, started_at, finished_at, progress, done, attempt }: Job, now: Date) {
  const ranMs = started_at ? (finished_at ?? now).getTime() - started_at.getTime() : 0
  const perSecond = ranMs > 0 ? (1000 * progress.done) / ranMs : 0
  const left = progress.total !== null && perSecond > 0 && progress.total - progress.done
  return facts({
    [done ? 'Ran for' : 'Running for']: started_at ? duration(ranMs) : 'not started',
    Waited: duration((started_at ?? finished_at ?? now).getTime() - created_at.getTime()),
    Speed: perSecond > 0 && `${amount(Math.round(perSecond), progress.unit)} a second`,
    Left: !done && (left === false ? 'unknown' : duration((1000 * left) / perSecond)),
    Attempt: attempt,
  })
}

function errorOf({ code, message, retryable }: NonNullable<Job['error']>) {
  return html`<section class="card failure">
    <h2>${message}</h2>
    <p>
      <code>${code}</code> ·
      ${retryable ? 'May succeed when it is run again.' : 'Fails again in the same way.'}
    </p>
  </section>`
}

function resultOf(result: object) {
  const shown = Object.entries(result).slice(0, 24)
  return html`<section>
    <h2>Result</h2>
    ${facts(Object.fromEntries(shown.map(([name, value]) => [name.replaceAll('_', ' '), resultValue(name, value)])))}
  </section>`
}

function resultValue(name: string, value: unknown) {
  if (typeof value === 'number') return count(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === '{}' || text === '[]') return ''
  const place = PLACES[name]
  const shown = html`<code>${text.slice(0, 400)}</code>`
  return place && typeof value === 'string' ? html`<a href="${place}${value}">${shown}</a>` : shown
}

function attemptsOf({ history }: Job, now: Date): Markup | '' {
  if (history.length === 0) return ''
  return html`<section>
    <h2>Attempts</h2>
    <table class="rows">
      <thead>
        <tr>
          <th>Attempt</th>
          <th>Outcome</th>
          <th>Error</th>
          <th class="num">Took</th>
          <th class="num">Started</th>
        </tr>
      </thead>
      <tbody>
        ${history.map(
          ({ attempt, started_at, ended_at, outcome, error }) =>
            html`<tr>
              <td>${attempt}</td>
              <td>${stateBadge(outcome ?? 'running')}</td>
              <td class="error"><bdi>${messageOf(error)}</bdi></td>
              <td class="num">${duration((ended_at ?? now).getTime() - started_at.getTime())}</td>
              <td class="num quiet">${started_at.toISOString().slice(0, 19).replace('T', ' ')}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`
}

function messageOf(error: object | null) {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : ''
}

/** The page of what a member of a result names. */
const PLACES: Readonly<Record<string, string>> = {
  import_id: '/console/imports/',
  manifest_id: '/console/manifests/',
  dataset_id: '/console/datasets/',
  check_id: '/console/checks/',
  replay_batch_id: '/console/replay/',
  repair_batch_id: '/console/replay/repairs/',
  trace_id: '/console/traces/',
}
