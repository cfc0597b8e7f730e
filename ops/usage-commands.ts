import { int, shape } from '../jobs/shape.ts'
import type { Sql } from '../sql/core/db.ts'
import { findLargestBacklogs } from '../sql/jobs/pg-boss.ts'
import {
  findBusiestCallers,
  findLargestStores,
  findLargestWriters,
} from '../sql/org/largest-users.ts'
import { nameOrganizations } from '../sql/org/organizations.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'

export const usageCommands: readonly Command[] = [
  command('usage now', {
    usage: '[--limit N] # the organizations that use most now',
    options: shape({}, { limit: int(1, 100).default(10) }),
    async run({ limit }, { database }) {
      const { sql } = await database()
      const [jobs, requests, traces, storage] = await Promise.all([
        findLargestBacklogs(sql, limit),
        findBusiestCallers(sql, limit),
        findLargestWriters(sql, limit),
        findLargestStores(sql, limit),
      ])
      return {
        by_jobs: await named(sql, jobs),
        by_requests: await named(sql, requests),
        by_traces: await named(sql, traces),
        by_stored_bytes: await named(sql, storage),
      }
    },
  }),
]

async function named<Row extends { org_id: string }>(sql: Sql, rows: readonly Row[]) {
  const ids = rows.map(({ org_id }) => org_id)
  const names = new Map((await nameOrganizations(sql, ids)).map(({ id, ...org }) => [id, org]))
  return rows.map((row) => ({ ...names.get(row.org_id), ...row }))
}
