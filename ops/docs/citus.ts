// Holds the schema against the rules of Citus, for tables distributed by organization. Run on a migrated
// database it writes that part of scaling.md: DATABASE_URL=... node ops/docs/citus.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { openDatabase } from '../../sql/core/db.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { readConfig } from '../config.ts'
import { replacePart, table } from './parts.ts'
import { readSchema } from './schema.ts'
import type { ForeignKey, SchemaTable } from './schema.ts'

/** Where a table would be: on the node of its organization, on every node, or on the coordinator alone. */
type Place = 'distributed' | 'reference' | 'coordinator'

/** The rows of the public registry, which all organizations read, and who the organizations are. */
const REFERENCE = new Set([
  'organizations',
  'registry_files',
  'registry_skills',
  'registry_slugs',
  'registry_versions',
])
/**
 * What is of no organization, or joined with the queue in every statement, and `hub_repos` and
 * `payment_events`, whose keys hold over all organizations.
 */
const COORDINATOR = new Set([
  'applied_migrations',
  'hub_repos',
  'job_attempts',
  'job_secrets',
  'jobs',
  'payment_events',
  'payment_objects',
  'queue_control',
  'queue_limits',
  'schema_migrations',
  'storage_marks',
  'trace_periods',
])

/**
 * One row a table: where it would be, its unique and foreign keys, its triggers, and what Citus refuses.
 * @throws Error for a table without `org_id` that is placed nowhere
 */
export async function citusTable(sql: Queryable): Promise<string> {
  const tables = await readSchema(sql)
  const rows = tables.map((each) => {
    const faults = faultsOf(each)
    return [
      `\`${each.name}\`${each.is_partitioned ? ' by month' : ''}`,
      placeOf(each),
      String(each.unique_keys.length),
      String(each.foreign_keys.length),
      String(each.triggers.length),
      faults.join('; '),
    ]
  })
  return table(['table', 'place', 'unique keys', 'foreign keys', 'triggers', 'refused'], rows)
}

/** What Citus refuses of a table, key by key. */
function faultsOf(each: SchemaTable): string[] {
  const place = placeOf(each)
  const key = (name: string, why: string) => `\`${name}\` ${why}`
  const outside = each.unique_keys.filter(({ columns }) => !columns.includes(COLUMN))
  return [
    ...(place === 'distributed' && each.is_nullable ? [`\`${COLUMN}\` may be null`] : []),
    ...(place === 'distributed' ? outside.map(({ name }) => key(name, `lacks ${COLUMN}`)) : []),
    ...each.foreign_keys.flatMap((foreign) => {
      const fault = foreignFault(place, foreign)
      return fault ? [key(foreign.name, fault)] : []
    }),
    ...(place === 'reference' ? each.triggers.map((name) => key(name, 'is a trigger')) : []),
    ...(place === 'distributed' && each.triggers.length > 0
      ? ['triggers, unless `citus.enable_unsafe_triggers`']
      : []),
  ]
}

/** Why Citus refuses a foreign key; undefined where it takes it. */
function foreignFault(from: Place, { target, columns, target_columns, actions }: ForeignKey) {
  const to = placeOf(target)
  if (to === 'coordinator' && from !== 'coordinator') return 'points to the coordinator'
  if (to === 'distributed' && from !== 'distributed') return `is from ${from} to distributed`
  if (from === 'distributed' && columns.includes(COLUMN) && actions.some(isRewrite)) {
    return `would change ${COLUMN}`
  }
  const at = columns.indexOf(COLUMN)
  if (to !== 'distributed' || (at >= 0 && target_columns[at] === COLUMN)) return undefined
  return `lacks ${COLUMN}`
}

function placeOf({ name, has_org }: { readonly name: string; readonly has_org: boolean }): Place {
  if (REFERENCE.has(name)) return 'reference'
  if (COORDINATOR.has(name)) return 'coordinator'
  if (!has_org) throw new Error(`${name} has no ${COLUMN}: place it in ops/docs/citus.ts`)
  return 'distributed'
}

const isRewrite = (action: string) => action === 'set null' || action === 'set default'
const COLUMN = 'org_id'

if (import.meta.main) {
  const sql = openDatabase(readConfig().DATABASE_URL ?? '')
  const path = 'ops/docs/scaling.md'
  const after = replacePart(readFileSync(path, 'utf8'), 'citus', await citusTable(sql))
  writeFileSync(path, after)
  await sql.end()
}
