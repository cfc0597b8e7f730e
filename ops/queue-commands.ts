import Joi from 'joi'
import type { PgBoss } from 'pg-boss'
import { int, shape, text } from '../jobs/shape.ts'
import type { Sql } from '../sql/core/db.ts'
import { listPausedQueues, pauseQueue, resumeQueue } from '../sql/jobs/queue-control.ts'
import { countQueuedJobs, openBoss, openProcessQueue } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { findJobOf, listDeadLetters, redriveDeadLetters } from './dead-letters.ts'

export const queueCommands: readonly Command[] = [
  command('queue list', {
    usage: '',
    options: shape({}),
    async run(_, { database }) {
      const { sql } = await database()
      return withBoss(sql, async (boss) => ({ queues: await describeQueues(boss, sql) }))
    },
  }),

  command('queue pause', {
    usage: 'NAME [--reason TEXT]',
    options: shape({ name: text() }, { reason: text() }),
    positional: 'name',
    async run({ name, reason = null }, { database }) {
      const { sql } = await database()
      await pauseQueue(sql, findJobOf(name).name, reason)
      return { queue: name, paused: true }
    },
  }),

  command('queue resume', {
    usage: 'NAME',
    options: shape({ name: text() }),
    positional: 'name',
    async run({ name }, { database }) {
      const { sql } = await database()
      return {
        queue: name,
        paused: false,
        was_paused: await resumeQueue(sql, findJobOf(name).name),
      }
    },
  }),

  command('dead-letters list', {
    usage: 'NAME [--limit N]',
    options: shape({ name: text() }, { limit: int(1, 10_000).default(100) }),
    positional: 'name',
    async run({ name, limit }, { database }) {
      const { sql } = await database()
      return withBoss(sql, async (boss) => ({
        queue: name,
        dead_letters: await listDeadLetters(boss, name, limit),
      }))
    },
  }),

  command('dead-letters redrive', {
    usage: 'NAME [--limit N] [--dry-run true]',
    options: shape(
      { name: text() },
      { limit: int(1, 10_000).default(1000), 'dry-run': Joi.boolean().default(false) },
    ),
    positional: 'name',
    async run({ name, limit, 'dry-run': dryRun }, { database }) {
      const { sql } = await database()
      return withBoss(sql, (boss) => {
        const queue = openProcessQueue(boss, sql)
        return redriveDeadLetters({ boss, sql, queue }, name, { limit, dryRun })
      })
    },
  }),

  command('fleet', {
    usage: '# the processes that are alive',
    options: shape({}),
    async run(_, { database }) {
      const { sql } = await database()
      return withBoss(sql, async (boss) => ({ processes: await describeFleet(boss) }))
    },
  }),
]

async function withBoss<T>(sql: Sql, work: (boss: PgBoss) => Promise<T>) {
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  try {
    return await work(boss)
  } finally {
    await boss.stop({ graceful: false })
  }
}

async function describeQueues(boss: PgBoss, sql: Sql) {
  const paused = new Map((await listPausedQueues(sql)).map((one) => [one.queue, one]))
  return (await countQueuedJobs(boss)).map((counts) => ({
    ...counts,
    paused_at: paused.get(counts.queue)?.paused_at ?? null,
    paused_because: paused.get(counts.queue)?.reason ?? null,
  }))
}

async function describeFleet(boss: PgBoss) {
  const processes = (await boss.getInstances()).filter(({ live }) => live)
  return processes.map(({ name, host, pid, schedule, startedOn, heartbeatOn, metrics }) => ({
    name,
    host,
    pid,
    supervises: schedule,
    started_at: startedOn,
    heard_of_at: heartbeatOn,
    metrics,
  }))
}
