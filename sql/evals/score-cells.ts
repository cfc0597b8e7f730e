import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import { PASS_AT } from '../../jobs/rules/evals/score.ts'
import type { Queryable, Sql } from '../core/db.ts'

/**
 * Notes that the cells of these traces have to be recomputed. Holds a lock until the transaction ends
 * for which `awaitCellWriters` waits; whoever enqueues the recomputation does so after this.
 */
export async function markCellsDirty(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await sql`
    insert into score_cells_dirty (org_id, project_id, agent_name, day)
    select distinct t.org_id, t.project_id, t.agent_name, (t.started_at at time zone 'UTC')::date
    from (select pg_advisory_xact_lock_shared(hashtextextended(${projectId}::text, ${WRITERS}))) as held,
      traces t
    where t.org_id = ${orgId} and t.project_id = ${projectId}
      and t.trace_id = any(${traceIds}::text[])`
}

/**
 * Waits for the transactions that have marked cells and not committed yet. A job that recomputes does
 * this first: they may have found it waiting in the queue and so have enqueued no other. Not to be
 * called in a transaction: the lock must not outlast the statement.
 */
export async function awaitCellWriters(sql: Sql, projectId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${projectId}::text, ${WRITERS}))`
}

/**
 * Recomputes up to `limit` pairs of agent and day that were marked, from the scores as they are, and
 * returns how many there were. Call it in a transaction; those of one project go one after another,
 * so that older sums never take the place of newer ones.
 */
export async function recomputeCells(
  sql: Queryable,
  orgId: string,
  projectId: string,
  limit: number,
): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${projectId}::text, ${RECOMPUTING}))`
  const keys = await takeDirty(sql, orgId, projectId, limit)
  if (keys.length === 0) return 0
  await deleteCells(sql, orgId, projectId, keys)
  await insertCells(sql, orgId, projectId, keys)
  return keys.length
}

async function takeDirty(sql: Queryable, orgId: string, projectId: string, limit: number) {
  return sql<DirtyKey[]>`
    with taken as (
      select distinct agent_name, day from score_cells_dirty
      where org_id = ${orgId} and project_id = ${projectId} order by day, agent_name limit ${limit}
    ), deleted as (
      delete from score_cells_dirty d using taken
      where d.org_id = ${orgId} and d.project_id = ${projectId}
        and d.agent_name = taken.agent_name and d.day = taken.day
    )
    select agent_name, day::text as day from taken`
}

async function deleteCells(
  sql: Queryable,
  orgId: string,
  projectId: string,
  keys: readonly DirtyKey[],
) {
  await sql`
    delete from score_cells c using ${keyRows(sql, keys)}
    where c.org_id = ${orgId} and c.project_id = ${projectId}
      and c.agent_name = k.agent_name and c.day = k.day`
}

async function insertCells(
  sql: Queryable,
  orgId: string,
  projectId: string,
  keys: readonly DirtyKey[],
) {
  const bins = Array.from(
    { length: HISTOGRAM_BINS },
    (_, bin) =>
      sql`${bin ? sql`,` : sql``} coalesce(sum(bin_n) filter (where bin = ${bin}::int), 0)`,
  )
  const cell = sql`agent_name, manifest_id, manifest_hash, day, name, source, verdict`
  await sql`
    with scores as (
      select t.agent_name, coalesce(t.manifest_id::text, '') as manifest_id,
        coalesce(t.manifest_hash, '') as manifest_hash, d.day, s.name, s.source,
        coalesce(v.verdict, '') as verdict,
        -- The square of a lesser one is nearer to 0 than Postgres will have a number be.
        case when s.value < 1e-100 then 0 else s.value end as value, coalesce(s.passed, s.value >= ${PASS_AT}) as passed,
        least(floor(s.value * ${HISTOGRAM_BINS}::int)::int, ${HISTOGRAM_BINS - 1}::int) as bin,
        coalesce('s' || t.session_id, 't' || t.trace_id) as cluster
      from (select distinct day from ${keyRows(sql, keys)}) d
      join traces t on t.org_id = ${orgId} and t.project_id = ${projectId}
        and t.started_at >= d.day::timestamp at time zone 'UTC'
        and t.started_at < (d.day + 1)::timestamp at time zone 'UTC'
      join ${keyRows(sql, keys)} on k.day = d.day and k.agent_name = t.agent_name
      join eval_scores s on s.org_id = t.org_id and s.project_id = t.project_id
        and s.trace_id = t.trace_id and s.value is not null
      left join verdicts v on v.org_id = t.org_id and v.project_id = t.project_id
        and v.trace_id = t.trace_id
    ), clusters as (
      select ${cell}, cluster, count(*) as n, sum(value) as s
      from scores group by ${cell}, cluster
    ), cluster_sums as (
      select ${cell}, count(*) as clusters, sum(s * s) as ss, sum(s * n) as sn, sum(n * n) as nn
      from clusters group by ${cell}
    ), binned as (
      select ${cell}, bin, count(*) as bin_n, count(*) filter (where passed) as passed,
        sum(value) as sum, sum(value * value) as sum_squares, min(value) as min, max(value) as max
      from scores group by ${cell}, bin
    )
    insert into score_cells (org_id, project_id, ${cell}, n, passed, sum, sum_squares, min, max,
      histogram, clusters, cluster_ss, cluster_sn, cluster_nn)
    select ${orgId}, ${projectId}, ${cell}, sum(bin_n), sum(b.passed), sum(b.sum),
      sum(b.sum_squares), min(b.min), max(b.max), array[${bins}]::bigint[],
      min(c.clusters), min(c.ss), min(c.sn), min(c.nn)
    from binned b join cluster_sums c using (${cell})
    group by ${cell}`
}

/** The dirty pairs as rows `k (agent_name, day)`. */
function keyRows(sql: Queryable, keys: readonly DirtyKey[]) {
  return sql`unnest(${keys.map((key) => key.agent_name)}::text[], ${keys.map((key) => key.day)}::date[])
    as k (agent_name, day)`
}

/** Second arguments of the hash behind the advisory locks: two numbers that nothing else uses. */
const WRITERS = 7_304_521
const RECOMPUTING = 7_304_522

interface DirtyKey {
  agent_name: string
  /** `YYYY-MM-DD`, in UTC. */
  day: string
}
