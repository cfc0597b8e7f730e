import { decodeCursor, encodeCursor } from '../api/pagination.ts'
import { jobs } from '../jobs/index.ts'
import { bossDatabase } from '../jobs/pg-boss.ts'
import { JOB_STATES } from '../jobs/rules/jobs/job-state.ts'
import { int, oneOf, shape, text, time, uuid } from '../jobs/shape.ts'
import type { Sql, Transaction } from '../sql/core/db.ts'
import { findJobOfAny, listAllJobs } from '../sql/jobs/all-jobs.ts'
import { listJobAttempts } from '../sql/jobs/job-attempts.ts'
import type { JobRow } from '../sql/jobs/jobs.ts'
import { cancelJob } from '../sql/transactions/cancel-job.ts'
import { auditOperator } from './audit.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { OperatorError } from './operator-error.ts'

export const jobCommands: readonly Command[] = [
  command('jobs list', {
    usage:
      '[--org ID] [--kind NAME] [--state STATE] [--error CODE] [--since TIME] [--limit N] [--cursor CURSOR]',
    options: shape(
      {},
      {
        org: uuid(),
        kind: oneOf(...jobs.map(({ name }) => name)),
        state: oneOf(...JOB_STATES),
        error: text(),
        since: time(),
        limit: int(1, 1000).default(50),
        cursor: text(),
      },
    ),
    async run({ org: orgId, error: errorCode, cursor, limit, ...filter }, { database }) {
      const { sql } = await database()
      const before = readCursor(cursor)
      const rows = await listAllJobs(sql, { ...filter, orgId, errorCode, before, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      return {
        jobs: shown.map(summarize),
        next_cursor: last ? encodeCursor([last.created_at, last.id]) : null,
      }
    },
  }),

  command('jobs show', {
    usage: 'ID # with its newest attempts and its row in the queue',
    options: shape({ id: uuid() }),
    positional: 'id',
    async run({ id }, { database }) {
      const { sql } = await database()
      const job = await requireJob(sql, id)
      const attempts = await listJobAttempts(sql, job.org_id, id, ATTEMPTS_SHOWN)
      return withBoss(sql, async (boss) => ({
        job,
        attempts,
        queue_row: await boss.getJobById(job.kind, job.queue_job_id),
      }))
    },
  }),

  command('jobs cancel', {
    usage: 'ID # at once when it waits, else at its next safe point',
    options: shape({ id: uuid() }),
    positional: 'id',
    async run({ id }, { database }) {
      const { sql } = await database()
      const { org_id, kind, state } = await requireJob(sql, id)
      return withBoss(sql, async (boss) => {
        const queue = openProcessQueue(boss, sql)
        const after = await queue.transaction(sql, async (tx: Transaction) => {
          const after = await cancelJob(tx, queue, org_id, id)
          if (after !== 'canceled' && after !== 'cancelling')
            throw new OperatorError(`The job ${id} has ${after ?? 'been deleted'} already.`)
          if (after !== state) await auditOperator(tx, org_id, 'job.canceled', id, { label: kind })
          return after
        })
        return { id, org_id, kind, state: after }
      })
    },
  }),

  command('jobs set-priority', {
    usage:
      'ID --priority N # of a waiting job; 1 goes before those that wait for their turn, which have 0 or less',
    options: shape({ id: uuid(), priority: int(-2_000_000_000, 99) }),
    positional: 'id',
    async run({ id, priority }, { database }) {
      const { sql } = await database()
      const { org_id, kind, queue_job_id } = await requireJob(sql, id)
      return withBoss(sql, async (boss) => {
        await sql.begin(async (tx) => {
          const change = { id: queue_job_id, priority, db: bossDatabase(tx) }
          const { updated } = await boss.update(kind, undefined, change)
          if (updated === 0) throw new OperatorError(`The job ${id} does not wait in its queue.`)
          await auditOperator(tx, org_id, 'job.reprioritized', id, { label: kind, priority })
        })
        return { id, org_id, kind, priority }
      })
    },
  }),
]

async function requireJob(sql: Sql, id: string): Promise<JobRow> {
  const job = await findJobOfAny(sql, id)
  if (job) return job
  throw new OperatorError(`There is no job ${id}.`)
}

/** Without what the client asked for and got, which may be long. */
function summarize({ request: _, result: __, ...job }: JobRow) {
  return job
}

function readCursor(cursor: string | undefined) {
  try {
    return decodeCursor(cursor)
  } catch {
    throw new OperatorError('The cursor is not one that jobs list gave.')
  }
}

const ATTEMPTS_SHOWN = 100
