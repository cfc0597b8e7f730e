import type { Request } from '@hapi/hapi'
import { END_CHANNEL } from '../jobs/queue.ts'
import { retryAfter } from '../jobs/rules/webhooks/retry-after.ts'
import { isDatabaseAway, NoConnection, ownedBy } from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import type { Listener } from '../sql/core/listener.ts'
import { findJob, findUsualSeconds } from '../sql/jobs/jobs.ts'
import type { JobRow } from '../sql/jobs/jobs.ts'
import { waitApart } from './concurrency.ts'
import type { JobWaiter } from './context.ts'
import { Answer } from './endpoint.ts'
import { headerOf } from './header.ts'

/** Jobs that end are notified; a poll every `POLL_MS` finds those whose notification is lost. */
export async function openJobWaiter(sql: Sql, listener: Listener): Promise<JobWaiter> {
  const waiting = new Map<string, Set<() => void>>()
  const measured = new Map<string, Measured>()
  let closed = false
  await listener.listen(END_CHANNEL, (ids) => {
    for (const id of ids.split(',')) waiting.get(id)?.forEach((hear) => hear())
  })

  /** Hears of the end of a job from now on, so that a look that begins later misses none. */
  function hearEnd(id: string) {
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>()
    const ears = waiting.get(id) ?? new Set()
    waiting.set(id, ears.add(hear))
    return {
      async within(ms: number) {
        const timer = setTimeout(hear, ms)
        await heard
        clearTimeout(timer)
      },
      [Symbol.dispose]() {
        ears.delete(hear)
        if (ears.size === 0) waiting.delete(id)
      },
    }
  }

  /** BUSY where no connection became free in time. */
  function look(orgId: string, id: string) {
    return findJob(ownedBy(sql, orgId), orgId, id).catch((error: unknown) => {
      if (error instanceof NoConnection) return BUSY
      throw error
    })
  }

  return {
    async wait(orgId, id, seconds) {
      const deadline = performance.now() + seconds * 1000
      for (;;) {
        using end = hearEnd(id)
        const job = await look(orgId, id)
        const left = deadline - performance.now()
        if (job !== BUSY && (!job || job.finished_at)) return job
        if (left <= 0 || closed) {
          if (job === BUSY) throw new NoConnection()
          return job
        }
        await end.within(Math.min(left, POLL_MS))
      }
    },
    async usualSeconds(orgId, kind) {
      const key = `${orgId} ${kind}`
      const known = measured.get(key)
      if (known && performance.now() - known.at < MEASURED_MS) return known.seconds
      if (measured.size >= MEASURED_MAX) measured.clear()
      const seconds = await findUsualSeconds(ownedBy(sql, orgId), orgId, kind)
      measured.set(key, { seconds, at: performance.now() })
      return seconds
    },
    async close() {
      closed = true
      for (const ears of waiting.values()) ears.forEach((hear) => hear())
    },
  }
}

/** Seconds for a `Retry-After` header: until when a job is likely to have ended. */
export async function jobRetryAfter(
  { waiter, now }: { waiter: JobWaiter; now: () => Date },
  job: Pick<JobRow, 'org_id' | 'kind' | 'created_at'>,
): Promise<number> {
  const ageSeconds = (now().getTime() - job.created_at.getTime()) / 1000
  return retryAfter(ageSeconds, await waiter.usualSeconds(job.org_id, job.kind))
}

/** How long the caller wants to wait for long work, by its `Prefer` header (RFC 7240). */
function preferredWait(request: Request): { seconds: number; applied: string | undefined } {
  const header = headerOf(request, 'prefer') ?? ''
  if (/\brespond-async\b/i.test(header)) return { seconds: 0, applied: 'respond-async' }
  const wait = /\bwait\s*=\s*"?(\d{1,6})/i.exec(header)?.[1]
  if (wait === undefined) return { seconds: DEFAULT_WAIT_SECONDS, applied: undefined }
  const seconds = Math.min(Number(wait), MAX_WAIT_SECONDS)
  return { seconds, applied: `wait=${seconds}` }
}

/** Waits for a job as long as the caller prefers. It may not have ended then. */
export function waitForJob({ context, principal, request }: WaitingCall, jobId: string) {
  const { seconds } = preferredWait(request)
  return waitApart(request, seconds, (seconds) =>
    context.waiter.wait(principal.orgId, jobId, seconds),
  )
}

/**
 * Waits for a job as long as the caller prefers. Answers `doneStatus` with the resource when the job has
 * ended, else 202 with the job's path.
 * @param show reads the resource back, after the wait
 */
export async function answerLongWork(
  call: WaitingCall & { context: { now: () => Date } },
  jobId: string,
  doneStatus: 200 | 201,
  show: () => Promise<object>,
) {
  const { applied } = preferredWait(call.request)
  const headers = applied ? { 'Preference-Applied': applied } : {}
  const later = { ...headers, Location: `/api/v1/jobs/${jobId}` }
  try {
    const job = await waitForJob(call, jobId)
    const body = { ...(await show()), job_id: jobId }
    if (job?.finished_at) return new Answer(doneStatus, body, headers)
    const retry = job ? await jobRetryAfter(call.context, job) : 1
    return new Answer(202, body, { ...later, 'Retry-After': String(retry) })
  } catch (error) {
    // The work is accepted: who is told to try again would submit it twice.
    if (!isDatabaseAway(error)) throw error
    return new Answer(202, { job_id: jobId }, { ...later, 'Retry-After': '2' })
  }
}

interface WaitingCall {
  readonly context: { readonly waiter: JobWaiter }
  readonly principal: { readonly orgId: string }
  readonly request: Request
}

const BUSY = 'busy' as const
const DEFAULT_WAIT_SECONDS = 25
const MAX_WAIT_SECONDS = 55
const POLL_MS = 1000
/** How long a measurement holds, and how many are kept. */
const MEASURED_MS = 10_000
const MEASURED_MAX = 10_000

interface Measured {
  readonly seconds: number | undefined
  readonly at: number
}
