import type { PgBoss } from 'pg-boss'
import { jobs } from '../jobs/index.ts'
import { deadLetterName } from '../jobs/job.ts'
import type { Job } from '../jobs/job.ts'
import { bossDatabase } from '../jobs/pg-boss.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Queryable, Sql, Transaction } from '../sql/core/db.ts'
import { findJob, restartJob } from '../sql/jobs/jobs.ts'
import { countDeadLetters, findDeadLetters } from '../sql/jobs/pg-boss.ts'
import type { DeadLetterFilter } from '../sql/jobs/pg-boss.ts'
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
  filter: DeadLetterFilter,
): Promise<DeadLetter[]> {
  findJobOf(queue)
  const found = await findDeadLetters(sql, deadLetterName(queue), filter)
  return found.map(({ data, ...letter }) => ({
    ...letter,
    org_id: data.org_id,
    job_id: data.job_id ?? null,
    payload: data.payload,
  }))
}

/**
 * Puts dead letters back into their queue, each in a transaction with its job resource, which starts
 * over from its last checkpoint. A letter whose job resource is no longer failed, because somebody
 * retried it meanwhile, is thrown away. One whose job resource was deleted is left: nothing could show how it
 * ends. With `dryRun` only counts. `left` are those that match beyond the limit.
 */
export async function redriveDeadLetters(
  by: Redriver,
  queue: string,
  { dryRun, ...filter }: DeadLetterFilter & { readonly dryRun: boolean },
) {
  const { sql } = by
  const job = findJobOf(queue)
  const letters = await listDeadLetters(sql, queue, filter)
  const matching = await countDeadLetters(sql, deadLetterName(queue), filter)
  const left = Math.max(0, matching - letters.length)
  const counts = { queue, found: letters.length, left, redriven: 0, obsolete: 0, gone: 0 }
  for (const letter of letters) {
    if ((await findState(sql, letter)) === undefined) counts.gone++
    else if (!dryRun) counts[(await redrive(by, job, letter)) ? 'redriven' : 'obsolete']++
  }
  return { ...counts, ...(dryRun && { dry_run: true }) }
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

interface Redriver {
  readonly boss: PgBoss
  readonly sql: Sql
  readonly queue: Queue
}
