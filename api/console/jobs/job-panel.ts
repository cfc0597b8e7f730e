import type { AnswerOf } from '../../endpoint.ts'
import type { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import type { Panel } from '../live.ts'
import {
  ago,
  amount,
  badge,
  count,
  duration,
  facts,
  plural,
  sendButton,
  stateBadge,
} from '../parts.ts'
import { paceOf } from './pace.ts'
import { resultPage } from './result-page.ts'

type Job = NonNullable<AnswerOf<typeof showJob>>

/** What changes of a job while it runs. */
export function jobPanel(job: Job, now: Date, mayWrite: boolean): Panel {
  return {
    isDone: job.done,
    markup: html`<section class="job-now">
        <div class="job-head">
          <p>${stateBadge(job.state)} <span class="quiet">${saidOf(job)}</span></p>
          ${mayWrite && actionOf(job)}
        </div>
        ${meterOf(job)} ${timesOf(job, now)}
      </section>
      ${job.error && errorOf(job.error, job.done)} ${resultOf(job)} ${attemptsOf(job.history, now)}`,
  }
}

function saidOf({ state, done, error, progress }: Job) {
  if (state === 'queued') return error ? 'Waits for its next attempt' : 'Waits for a worker'
  if (state === 'cancelling') return 'Stops at its next safe point; what it has committed stays'
  return done ? '' : progress.note
}

function actionOf({ id, state, error }: Job) {
  if (state === 'queued' || state === 'running') {
    return sendButton('Cancel', `POST /jobs/${id}/cancel`, {
      confirm: 'Cancel this job? What it has committed stays.',
    })
  }
  if (state !== 'failed') return undefined
  const path = `POST /jobs/${id}/retry` as const
  if (error?.retryable !== false) return sendButton('Run again', path, { kind: 'primary' })
  const confirm = `The job failed with ${error.code}, which another try does not mend. Try nevertheless?`
  return sendButton('Run again nevertheless', path, { body: { force: true }, confirm })
}

function meterOf({ done, state, progress }: Job) {
  const { percent, total, unit } = progress
  if (done && (percent === null || percent === 100)) return undefined
  if (percent === null) {
    return html`<div class="meter">
      <p class="big">${amount(progress.done, unit ?? 'done')}</p>
      ${state !== 'queued' && html`<progress aria-label="Working"></progress>`}
    </div>`
  }
  return html`<div class="meter">
    <p class="big">${percent.toFixed(1)}<small> %</small></p>
    <progress value="${percent}" max="100" aria-label="Progress of the job"></progress>
    <p class="quiet">${amount(progress.done, unit)} of ${amount(total, unit)}</p>
  </div>`
}

function timesOf(job: Job, now: Date) {
  const { tookMs, waitedMs, perSecond, leftMs } = paceOf(job, now)
  const { done, progress, started_at, finished_at, expires_at, attempt } = job
  return facts({
    [done ? 'Ran for' : 'Running for']: started_at ? duration(tookMs) : 'not started',
    [started_at ? 'Waited' : 'Waits']: duration(waitedMs),
    Speed: perSecond && `${amount(perSecond, progress.unit)}/s`,
    Left: !done && started_at && (leftMs === undefined ? 'unknown' : duration(leftMs)),
    Attempt: count(attempt),
    Ended: finished_at && ago(finished_at, now),
    'Readable until': expires_at?.toISOString().slice(0, 10),
  })
}

function errorOf(error: NonNullable<Job['error']>, hasFailed: boolean) {
  const { code, message, retryable, attempts, details } = error
  const next = retryable
    ? 'Running it again goes on from its last checkpoint.'
    : 'Another try would fail as well: mend what it says, then send the request again.'
  return html`<section class="job-error" aria-labelledby="error">
    <h2 id="error">
      ${hasFailed ? 'It failed with' : 'The last attempt ended with'} <code>${code}</code>
    </h2>
    <p class="because"><bdi>${message.slice(0, 2000)}</bdi></p>
    ${hasFailed && html`<p class="quiet">After ${plural(attempts, 'attempt')}. ${next}</p>`}
    ${details && html`<pre tabindex="0" aria-label="Details of the error">${JSON.stringify(details, null, 2).slice(0, 4000)}</pre>`}
  </section>`
}

/** What it says of its work, and the page of what it made, which need not name that by its id, too. */
function resultOf({ done, result, links }: Job) {
  const page = done ? resultPage(links.result) : undefined
  if (!page && !result) return undefined
  const members = Object.entries(result ?? {}).filter(([name]) => !page || !name.endsWith('_id'))
  const shown = members.slice(0, MAX_MEMBERS).map(([name, value]) => [nameOf(name), valueOf(value)])
  return html`<section aria-labelledby="result">
    <h2 id="result">Result</h2>
    ${shown.length > 0 && facts(Object.fromEntries(shown))}
    ${page && html`<p class="job-made"><a class="button" href="${page.href}">${page.text}</a></p>`}
  </section>`
}

/** Members of members as words; ids stand as they are. */
function valueOf(value: unknown): Part {
  if (value === null) return '–'
  if (typeof value === 'number') return count(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return html`<code><bdi>${value.slice(0, 200)}</bdi></code>`
  if (Array.isArray(value)) return value.length === 0 ? 'none' : count(value.length)
  const members = Object.entries(value as object)
  if (members.length === 0) return 'none'
  const words = members.slice(0, MAX_MEMBERS).map(([name, n]) => `${nameOf(name)} ${String(n)}`)
  return words.join(' · ').slice(0, 400)
}

function attemptsOf(history: Job['history'], now: Date): Markup | undefined {
  if (history.length === 0) return undefined
  return html`<section aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    <ol class="attempts">
      ${history.toReversed().map(
        ({ attempt, started_at, ended_at, outcome, error }) =>
          html`<li>
            <b>${attempt}</b> ${outcome ? stateBadge(outcome) : badge('running', 'busy')}
            <span class="quiet"
              >${ago(started_at, now)}${ended_at && ` · ${duration(ended_at.getTime() - started_at.getTime())}`}${outcome && OUTCOMES[outcome] && ` · ${OUTCOMES[outcome]}`}</span
            >
            ${error && html`<p class="error"><code>${error.code}</code> <bdi>${error.message.slice(0, 500)}</bdi></p>`}
          </li>`,
      )}
    </ol>
  </section>`
}

function nameOf(member: string) {
  const words = member.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What the outcomes mean that nobody guesses. */
const OUTCOMES: Readonly<Record<string, string>> = {
  released: 'its worker was stopped; no attempt is lost',
  continued: 'it goes on behind other work',
  lost: 'its worker died or fell silent',
}
const MAX_MEMBERS = 20
