import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { handler, transactionalHandler } from '../../workers/runtime/handler.ts'
import type { AnyHandler } from '../../workers/runtime/handler.ts'
import { numberJob } from '../support/queues.ts'

/**
 * What the workers under fault do. Each effect is a row in `effects`, so that an effect without its
 * job, or twice, can be seen afterwards.
 */

/** Effect and settlement in one transaction. */
export const effectJob = numberJob('fault.effect', { retryLimit: 5 })
/** `STEPS` effects, each with a checkpoint. */
export const stepsJob = numberJob('fault.steps', { policy: 'exclusive', retryLimit: 8 })
/** Waits for something outside, `n` milliseconds, to the end. */
export const ioJob = numberJob('fault.io')
/** Waits in the database, `n` milliseconds. Has no attempt to lose. */
export const frailJob = numberJob('fault.frail', { retryLimit: 0 })
/** Ends the process that takes it, each time. */
export const poisonJob = numberJob('fault.poison', { retryLimit: 1 })
/** Blocks the event loop until its `blockEnd` is there; takes `n` milliseconds when it runs again. */
export const blockJob = numberJob('fault.block')
/** Never ends, and does not listen. */
export const deafJob = numberJob('fault.deaf', { retryLimit: 0 })

export const STEPS = 20

/** The file that ends the block of a `blockJob`. */
export const blockEnd = (jobId: string | null) => join(tmpdir(), `adl-block-${jobId}`)

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4))

export const faultHandlers: readonly AnyHandler[] = [
  transactionalHandler(effectJob, async ({ n }, { jobId = null, orgId }, tx) => {
    await setTimeout(n % 20)
    await tx`insert into effects (org_id, job_id, n, step) values (${orgId}, ${jobId}, ${n}, 0)`
    await setTimeout(n % 10)
  }),

  handler(stepsJob, async ({ n }, run) => {
    const { sql, orgId, jobId = null, checkpointed } = run
    for (let step = checkpointed?.at ?? 0; step < STEPS;) {
      run.signal.throwIfAborted()
      await setTimeout(30)
      step++
      await sql.begin(async (tx) => {
        await tx`
          insert into effects (org_id, job_id, n, step) values (${orgId}, ${jobId}, ${n}, ${step})`
        await run.checkpoint(tx, { done: step, total: STEPS }, { at: step })
      })
    }
    return { steps: STEPS }
  }),

  handler(ioJob, async ({ n }) => {
    await setTimeout(n)
  }),

  handler(frailJob, async ({ n }, { sql }) => {
    await sql`select pg_sleep(${n / 1000})`
  }),

  handler(poisonJob, async () => {
    process.kill(process.pid, 'SIGKILL')
  }),

  handler(blockJob, async ({ n }, { sql, orgId, jobId = null, attempt, checkpoint }) => {
    while (attempt === 1 && !existsSync(blockEnd(jobId))) Atomics.wait(NEVER_WOKEN, 0, 0, 20)
    if (attempt > 1) await setTimeout(n)
    await sql.begin(async (tx) => {
      await tx`
        insert into effects (org_id, job_id, n, step) values (${orgId}, ${jobId}, ${n}, ${attempt})`
      await checkpoint(tx, { done: 1 })
    })
    return { attempt }
  }),

  handler(deafJob, () => new Promise<void>(() => {})),
]
