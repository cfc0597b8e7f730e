import Joi from 'joi'
import type { PgBoss } from 'pg-boss'
import { int, shape, text, time, uuid } from '../jobs/shape.ts'
import type { Sql } from '../sql/core/db.ts'
import { listPausedQueues, pauseQueue, resumeQueue } from '../sql/jobs/queue-control.ts'
import { countQueuedJobs, openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { findJobOf, listDeadLetters, redriveDeadLetters } from './dead-letters.ts'

/** Which dead letters are meant; `--error` is a part of what they died of. */
const letterOptions = { org: uuid(), error: text(), since: time(), until: time() }
const LETTER_USAGE = '[--org ID] [--error TEXT] [--since TIME] [--until TIME] [--limit N]'

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
    usage: `NAME ${LETTER_USAGE}`,
    options: shape({ name: text() }, { ...letterOptions, limit: int(1, 10_000).default(100) }),
    positional: 'name',
    async run({ name, org: orgId, ...filter }, { database }) {
      const { sql } = await database()
      return { queue: name, dead_letters: await listDeadLetters(sql, name, { ...filter, orgId }) }
    },
  }),

  command('dead-letters redrive', {
    usage: `NAME ${LETTER_USAGE} [--dry-run true] # puts back those that match`,
    options: shape(
      { name: text() },
      {
        ...letterOptions,
        limit: int(1, 10_000).default(1000),
        'dry-run': Joi.boolean().default(false),
      },
    ),
    positional: 'name',
    async run({ name, org: orgId, 'dry-run': dryRun, ...filter }, { database }) {
      const { sql } = await database()
      return withBoss(sql, (boss) => {
        const queue = openProcessQueue(boss, sql)
        return redriveDeadLetters({ boss, sql, queue }, name, { ...filter, orgId, dryRun })
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
  return processes.map(({ name, host, pid, supervise, startedOn, heartbeatOn, metrics }) => ({
    name,
    host,
    pid,
    supervises: supervise,
    started_at: startedOn,
    heard_of_at: heartbeatOn,
    metrics,
  }))
}
