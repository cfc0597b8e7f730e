import type { PgBoss } from 'pg-boss'
import { jobs } from '../../jobs/index.ts'
import { isDatabaseAway } from '../../sql/core/db.ts'
import type { WorkerContext } from '../runtime/context.ts'
import { releaseLostClaims } from './release-lost-claims.ts'
import { settleOrphanedJobs } from './settle-orphaned-jobs.ts'

/**
 * Looks after the queues: releases what dead workers held, lets the queue library expire, retry, count
 * and delete, and brings the rows of `jobs` up to date. Every process that supervises does so, and what
 * one pass leaves, another one settles.
 *
 * Claims are judged only when the database has been in sight for a while: after an outage no worker has
 * been heard of, and each must have had the time to say that it lives.
 */
export function superviseJobs(context: WorkerContext, boss: PgBoss): () => Promise<void> {
  const sight = openSight()
  let passing: Promise<void> | undefined
  let supervising: Promise<void> | undefined

  async function pass() {
    const answered = await step(() => settleOrphanedJobs(context, jobs, 'claimed'))
    if (answered && sight.isSteady()) {
      await step(() => releaseLostClaims(context, boss))
      supervising ??= supervise()
    }
    passing = undefined
  }

  /** What fails does not keep the other steps from their work. Returns whether the database answered. */
  async function step(work: () => Promise<unknown>) {
    try {
      await work()
      return true
    } catch (err) {
      context.log.warn({ err }, 'lost jobs could not be settled')
      return !isDatabaseAway(err)
    }
  }

  /** Counting and deleting may take long, and claims are not to wait for it. */
  async function supervise() {
    await boss.supervise().catch((err: unknown) => {
      context.log.warn({ err }, 'the queues could not be supervised')
    })
    supervising = undefined
  }

  const ticking = setInterval(() => {
    passing ??= pass()
  }, PASS_MS)
  return async () => {
    clearInterval(ticking)
    await passing
    await supervising
  }
}

/** Call `isSteady` whenever the database has answered: whether it did so for `STEADY_MS` without a gap. */
function openSight() {
  let since = -Infinity
  let last = -Infinity
  return {
    isSteady() {
      const now = performance.now()
      if (now - last > 2 * PASS_MS) since = now
      last = now
      return now - since >= STEADY_MS
    },
  }
}

/** A job shows as running without a worker for at most this, its heartbeat and the queue's own pass. */
const PASS_MS = 3000
/** Workers beat every 2 seconds and connect again within one. */
const STEADY_MS = 5000
