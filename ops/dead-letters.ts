import type { PgBoss } from 'pg-boss'
import { jobs } from '../jobs/index.ts'
import { deadLetterName } from '../jobs/job.ts'
import type { Job } from '../jobs/job.ts'
import { bossDatabase } from '../jobs/pg-boss.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Queryable, Sql, Transaction } from '../sql/core/db.ts'
import { findJob, restartJob } from '../sql/jobs/jobs.ts'
import { countDeadLetters, findDeadLetters } from '../sql/jobs/pg-boss.ts'
import type { DeadLetterFilter, DeadLetterPlace, DeadLetterRow } from '../sql/jobs/pg-boss.ts'
import { auditOperator } from './audit.ts'
import { OperatorError } from './operator-error.ts'

/** What is left of a job whose attempts are used up. */
export interface DeadLetter {
  readonly id: string
  readonly org_id: string | null
  /** The job resource; null for an internal job. */
  readonly job_id: string | null
  readonly payload: object
  /** That of the last attempt. */
  readonly error: object | null
  readonly died_at: Date
}

/** Oldest first. @throws OperatorError for a queue there is not */
export async function listDeadLetters(
  sql: Queryable,
  queue: string,
  { limit, ...filter }: LimitedFilter,
): Promise<DeadLetter[]> {
  findJobOf(queue)
  return (await findDeadLetters(sql, deadLetterName(queue), filter, { limit })).map(toDeadLetter)
}

/**
 * Puts dead letters back into their queue, each in a transaction with its job resource, which starts
 * over from its last checkpoint. A letter whose job resource is no longer failed, because somebody
 * retried it meanwhile, is thrown away. One whose job resource was deleted is left, and does not count
 * towards the limit: nothing could show how it ends. With `dryRun` only counts. Of those that match, `found`
 * were looked at, at most `MAX_FOUND`, and `left` were not.
 */
export async function redriveDeadLetters(
  by: Redriver,
  queue: string,
  { dryRun, limit, ...filter }: LimitedFilter & { readonly dryRun: boolean },
) {
  const { sql } = by
  const job = findJobOf(queue)
  const matching = await countDeadLetters(sql, deadLetterName(queue), filter)
  const counts = { queue, found: 0, left: matching, redriven: 0, obsolete: 0, gone: 0 }
  // No more than there were: those that are put back may die again meanwhile.
  for await (const letter of walkDeadLetters(sql, queue, filter, Math.min(matching, MAX_FOUND))) {
    counts.found++
    counts.left--
    if (letter.is_gone) counts.gone++
    else if (!dryRun)
      counts[(await redrive(by, job, toDeadLetter(letter))) ? 'redriven' : 'obsolete']++
    if (counts.found - counts.gone === limit) break
  }
  return { ...counts, ...(dryRun && { dry_run: true }) }
}

/** The oldest `limit` dead letters, read page by page. */
async function* walkDeadLetters(
  sql: Queryable,
  queue: string,
  filter: DeadLetterFilter,
  limit: number,
) {
  let after: DeadLetterPlace | undefined
  for (let left = limit; left > 0; left -= LETTERS_A_PAGE) {
    const next = { limit: Math.min(left, LETTERS_A_PAGE), after }
    const page: DeadLetterRow[] = await findDeadLetters(sql, deadLetterName(queue), filter, next)
    yield* page
    after = page.at(-1)
    if (!after) return
  }
}

function toDeadLetter({ id, data, error, died_at }: DeadLetterRow): DeadLetter {
  const { org_id, job_id = null, payload } = data
  return { id, error, died_at, org_id, job_id, payload }
}

async function redrive({ boss, sql, queue }: Redriver, job: Job, letter: DeadLetter) {
  return queue.transaction(sql, async (tx: Transaction) => {
    await boss.deleteJob(deadLetterName(job.name), letter.id, { db: bossDatabase(tx) })
    if ((await findState(tx, letter)) !== 'failed') return false
    const id = await queue.enqueue(tx, job, letter.payload, {
      orgId: letter.org_id,
      ...(letter.job_id && { jobId: letter.job_id, key: letter.job_id }),
    })
    if (letter.job_id && letter.org_id && id) {
      await restartJob(tx, letter.org_id, letter.job_id, id)
      await auditOperator(tx, letter.org_id, 'job.redriven', letter.job_id, { label: job.name })
    }
    return true
  })
}

/** That of the job resource; undefined when it was deleted. An internal job has none that could say otherwise. */
async function findState(sql: Queryable, { org_id, job_id }: DeadLetter) {
  if (!job_id || !org_id) return 'failed'
  return (await findJob(sql, org_id, job_id))?.state
}

/** The job of a queue. @throws OperatorError for a queue there is not */
export function findJobOf(queue: string) {
  const job = jobs.find(({ name }) => name === queue)
  if (job) return job
  throw new OperatorError(
    `There is no queue ${queue}; the queues are ${jobs.map(({ name }) => name).join(', ')}.`,
  )
}

interface LimitedFilter extends DeadLetterFilter {
  readonly limit: number
}

interface Redriver {
  readonly boss: PgBoss
  readonly sql: Sql
  readonly queue: Queue
}

/** Many times what one command puts back, so that those that are gone seldom hide another. */
const MAX_FOUND = 100_000
const LETTERS_A_PAGE = 1000
