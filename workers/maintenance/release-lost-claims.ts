import type { PgBoss } from 'pg-boss'
import { bossDatabase } from '../../jobs/pg-boss.ts'
import type { LostClaim } from '../../jobs/queue.ts'
import { isDatabaseAway } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { moveLostJob } from '../../sql/jobs/job-claims.ts'
import { listLostClaims, lockLostClaim } from '../../sql/jobs/pg-boss.ts'
import type { WorkerContext } from '../runtime/context.ts'

/**
 * Puts the jobs of workers that died or went silent back into their queues, to be run alone: one of
 * them may have ended its process, and the others were only beside it. A job that is lost when it runs
 * alone is left to the queue library, which retries it and gives it up in the end.
 */
export async function releaseLostClaims(context: WorkerContext, boss: PgBoss) {
  const { sql, queue, log } = context
  for (const lost of await listLostClaims(sql, MAX_LOST)) {
    const about = { queue: lost.queue, job_id: lost.data.job_id }
    try {
      const released = await queue.transaction(sql, (tx: Transaction) => release(tx, lost))
      if (released) log.warn(about, 'a lost job is tried alone')
    } catch (err) {
      if (isDatabaseAway(err)) throw err
      // The queue library retries it, and it keeps no other one from being released.
      log.error({ ...about, err }, 'a lost job could not be released')
    }
  }

  async function release(tx: Transaction, lost: LostClaim) {
    const { id, data } = lost
    const { org_id: orgId, job_id: jobId } = data
    // Its worker, or another process, was faster.
    if (!(await lockLostClaim(tx, lost))) return false
    await boss.complete(lost.queue, lost, null, { db: bossDatabase(tx) })
    const newId = await queue.enqueueLost(tx, lost)
    if (!newId || !jobId || orgId === null) return newId !== null
    const moved = await moveLostJob(tx, { orgId, id: jobId, queueJobId: id }, newId)
    // One that is to be canceled is settled with the other orphaned jobs.
    if (!moved) await queue.withdraw(tx, lost.queue, newId)
    return moved
  }
}

/** In one pass; the next one takes others. */
const MAX_LOST = 500
