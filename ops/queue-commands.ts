import type { PgBoss } from 'pg-boss'
import { bool, int, shape, text, uuid } from '../jobs/shape.ts'
import type { Sql } from '../sql/core/db.ts'
import {
  clearOrgLimit,
  listOrgLimits,
  listPausedQueues,
  pauseQueue,
  resumeQueue,
  setOrgLimit,
} from '../sql/jobs/queue-control.ts'
import { findOrganization } from '../sql/org/organizations.ts'
import { auditOperator } from './audit.ts'
import { countQueuedJobs, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { findJobOf } from './dead-letters.ts'
import { noOrganization, OperatorError } from './operator-error.ts'

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

  command('queue limit', {
    usage: 'NAME --org ID [--max-running N] [--pause] [--reason TEXT] # of one organization',
    options: shape(
      { name: text(), org: uuid() },
      { 'max-running': int(1, 10_000), pause: bool().default(false), reason: text() },
    ),
    positional: 'name',
    async run({ name, org, 'max-running': maxRunning, pause: paused, reason }, { database }) {
      if (!paused && maxRunning === undefined)
        throw new OperatorError('Say how much it may do: --max-running N, or --pause.')
      const { sql } = await database()
      const { name: queue } = findJobOf(name)
      const found = await findOrganization(sql, org)
      if (!found) throw noOrganization(org)
      const max_running = maxRunning ?? null
      const limit = { queue, org_id: org, paused, max_running }
      await sql.begin(async (tx) => {
        await setOrgLimit(tx, { ...limit, reason: reason ?? null })
        // The reason is the operator's own.
        const told = { name: found.name, queue, paused, max_running }
        await auditOperator(tx, org, 'organization.limited', org, told)
      })
      return limit
    },
  }),

  command('queue unlimit', {
    usage: 'NAME --org ID',
    options: shape({ name: text(), org: uuid() }),
    positional: 'name',
    async run({ name, org: org_id }, { database }) {
      const { sql } = await database()
      const { name: queue } = findJobOf(name)
      const was_limited = await sql.begin(async (tx) => {
        const cleared = await clearOrgLimit(tx, { queue, org_id })
        const name = (await findOrganization(tx, org_id))?.name
        if (cleared)
          await auditOperator(tx, org_id, 'organization.unlimited', org_id, { name, queue })
        return cleared
      })
      return { queue, org_id, was_limited }
    },
  }),

  command('queue limits', {
    usage: '[--org ID] # what is set for single organizations',
    options: shape({}, { org: uuid() }),
    async run({ org }, { database }) {
      const { sql } = await database()
      return { limits: await listOrgLimits(sql, org ? { org_id: org } : {}) }
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
