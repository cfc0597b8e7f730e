import { DEMO_MARK } from '../../jobs/rules/demo/fixture.ts'
import { jsonText, onlyRow } from '../core/db.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'

/** What the demo operations have put under the name of an agent: manifests and traces that say so. */

/** Whose the manifests and traces of an agent are. */
export async function findOwners(sql: Queryable, agent: AgentKey): Promise<Owners> {
  const own = sql`where ${ofAgent(sql, agent)} and not ${isMarked(sql)}`
  const made = sql`where ${ofAgent(sql, agent)} and ${isMarked(sql)}`
  const rows = await sql<Owners[]>`
    select
      exists (select from manifests ${own}) or exists (select from traces ${own}) as has_own,
      exists (select from manifests ${made}) or exists (select from traces ${made}) as has_demo`
  return onlyRow(rows)
}

export interface Owners {
  /** Some are the organization's own. */
  has_own: boolean
  /** Some are the demo's. */
  has_demo: boolean
}

/** The demo's manifests of the agent, oldest first. */
export async function listDemoManifests(sql: Queryable, agent: AgentKey) {
  return sql<Pick<ManifestRow, 'id'>[]>`
    select id from manifests where ${ofAgent(sql, agent)} and ${isMarked(sql)}
    order by version_number limit ${MAX_ROWS}`
}

/** The ids of the demo's traces of the agent, in their order. */
export async function listDemoTraces(sql: Queryable, agent: AgentKey) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from traces where ${ofAgent(sql, agent)} and ${isMarked(sql)}
    order by trace_id limit ${MAX_ROWS}`
  return rows.map(({ trace_id }) => trace_id)
}

/**
 * Deletes the manifests of an agent, all of which are the demo's and whose traces are gone, with what was
 * computed of them. Returns how many there were.
 */
export async function deleteManifests(tx: Transaction, agent: AgentKey): Promise<number> {
  const own = tx`where ${ofAgent(tx, agent)}`
  await tx`delete from regression_baselines ${own}`
  await tx`delete from regression_checks ${own}`
  await tx`delete from regression_findings ${own}`
  await tx`delete from regression_series ${own}`
  await tx`
    delete from compat_episodes where (org_id, report_id) in (
      select org_id, id from compat_reports ${own})`
  await tx`delete from compat_reports ${own}`
  await tx`delete from replay_batches ${own}`
  await tx`
    delete from repair_batches where (org_id, new_manifest_id) in (
      select org_id, id from manifests ${own})`
  await tx`delete from subagent_drifts ${own}`
  await tx`delete from manifest_activations ${own}`
  const deleted = await tx`delete from manifests ${own}`
  return deleted.count
}

/** The first condition is that of an index. */
function isMarked(sql: Queryable): Fragment {
  return sql`(metadata @> '{"fixture": true}' and metadata @> ${jsonText(DEMO_MARK)}::text::jsonb)`
}

/** More than the demo makes. */
const MAX_ROWS = 1000
