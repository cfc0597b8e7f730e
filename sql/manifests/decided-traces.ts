import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { Queryable } from '../core/db.ts'
import { countsManifest } from '../traces/trace-counts.ts'
import { isSameTrace, ofManifest } from '../traces/traces.ts'

/** The traces of a manifest, or those that a decision policy applies to; running ones included. */
export type DecidedTraces = DecidedByPolicy | (Owner & { readonly manifestId: string })

export interface DecidedByPolicy extends Owner {
  /** The agent whose policy it is; '' for the project's own, which is for agents without one. */
  readonly policyOf: string
}

interface Owner {
  readonly orgId: string
  readonly projectId: string
}

/** Ids after `after`, in order; '' begins. */
export async function listDecidedIds(
  sql: Queryable,
  traces: DecidedTraces,
  after: string,
  limit: number,
) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from traces t
    where ${matching(sql, traces)} and trace_id > ${after} order by trace_id limit ${limit}`
  return rows.map(({ trace_id }) => trace_id)
}

/** How many there are, from the counts of traces. */
export async function countDecided(sql: Queryable, traces: DecidedTraces) {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(sum(n), 0)::int8 as n from all_trace_counts t
    where t.org_id = ${traces.orgId} and t.project_id = ${traces.projectId}
      and ${'manifestId' in traces ? countsManifest(sql, traces.orgId, traces.manifestId) : decidedBy(sql, traces.policyOf)}`
  return row?.n ?? 0
}

/**
 * The newest traces that a policy is for, of those that have a verdict, with what it says.
 * Looks through a bounded number of the project's newest traces, whoever's they are.
 */
export async function listNewestDecided(
  sql: Queryable,
  { orgId, projectId, policyOf }: DecidedByPolicy,
  limit: number,
) {
  return sql<{ trace_id: string; verdict: Verdict; needs_review: boolean }[]>`
    select t.trace_id, v.verdict, v.needs_review
    from (
      select org_id, project_id, period, trace_id, agent_name, started_at from traces
      where org_id = ${orgId} and project_id = ${projectId}
        ${policyOf === '' ? sql`` : sql`and agent_name = ${policyOf}`}
      order by started_at desc, trace_id desc limit ${MAX_LOOKED_THROUGH}) t
    join verdicts v on ${isSameTrace(sql, sql`v`, sql`t`)}
    where ${decidedBy(sql, policyOf)}
    order by t.started_at desc, t.trace_id desc limit ${limit}`
}

const MAX_LOOKED_THROUGH = 10_000

function matching(sql: Queryable, traces: DecidedTraces) {
  return sql`t.org_id = ${traces.orgId} and t.project_id = ${traces.projectId}
    and ${scope(sql, traces)}`
}

function scope(sql: Queryable, traces: DecidedTraces) {
  if ('manifestId' in traces) return ofManifest(sql, traces.orgId, traces.manifestId)
  return decidedBy(sql, traces.policyOf)
}

function decidedBy(sql: Queryable, policyOf: string) {
  if (policyOf !== '') return sql`t.agent_name = ${policyOf}`
  return sql`not exists (select from decision_policies p where p.org_id = t.org_id
    and p.project_id = t.project_id and p.agent_name = t.agent_name)`
}
