import type { Queryable, Sql, Transaction } from '../core/db.ts'

/**
 * Adds changes that are committed up into the counts, at most `limit` of each kind. What readers sum stays
 * the same. Several processes may call it at once: while one of them does the work the others get 0.
 * @returns how many changes were added up
 */
export async function foldCounts(sql: Sql, limit: number): Promise<number> {
  return sql.begin(async (tx) => {
    const [lock] = await tx<{ got: boolean }[]>`
      select pg_try_advisory_xact_lock(counts_lock()) as got`
    if (!lock?.got) return 0
    return (
      (await foldTraces(tx, limit)) + (await foldVerdicts(tx, limit)) + (await foldEdges(tx, limit))
    )
  })
}

/** Deletes rows that count nothing any more, at most `limit` of each kind. Returns how many. */
export async function deleteEmptyCounts(sql: Sql, limit: number): Promise<number> {
  return sql.begin(async (tx) => {
    await holdCounts(tx)
    const isEmpty = tx`n = 0 and scored = 0 and quality_sum = 0`
    const traces = await tx`
      delete from trace_counts
      where ctid = any(array(select ctid from trace_counts where n = 0 limit ${limit}))`
    const verdicts = await tx`
      delete from verdict_counts
      where ctid = any(array(select ctid from verdict_counts where ${isEmpty} limit ${limit}))`
    const edges = await tx`
      delete from edge_counts
      where ctid = any(array(select ctid from edge_counts where n = 0 limit ${limit}))`
    return traces.count + verdicts.count + edges.count
  })
}

/**
 * Forgets what was added up of a period. The transaction drops its traces and decisions, and then calls
 * `deletePeriodChanges`.
 * @param period `YYYY-MM-DD`
 */
export async function deletePeriodCounts(tx: Transaction, period: string) {
  await holdCounts(tx)
  await tx`delete from trace_counts where period = ${period}`
  await tx`delete from verdict_counts where period = ${period}`
}

/** Forgets the changes of a period that were not added up, once nobody can make further ones. */
export async function deletePeriodChanges(tx: Transaction, period: string) {
  await tx`delete from trace_count_changes where period = ${period}`
  await tx`delete from verdict_count_changes where period = ${period}`
}

/** Sums over all organizations. */
export interface CountSums {
  traces: number
  verdicts: number
  edges: number
}

/**
 * Counts again what there is, beside traffic, which puts right what was counted wrong. It reads all traces,
 * decisions and edges, and so may take minutes.
 */
export async function recount(sql: Sql): Promise<{ before: CountSums; after: CountSums }> {
  return sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    const before = await sumCounts(tx)
    await tx`select recount()`
    return { before, after: await sumCounts(tx) }
  })
}

/** Nobody else folds the counts or takes them away before the transaction ends. */
export async function holdCounts(tx: Transaction) {
  await tx`select pg_advisory_xact_lock(counts_lock())`
}

async function foldTraces(tx: Transaction, limit: number) {
  const rows = await tx<Folded>`
    with taken as (
      delete from trace_count_changes
      where ctid = any(array(select ctid from trace_count_changes limit ${limit}))
      returning *
    ), folded as (
      insert into trace_counts as c
      select org_id, project_id, agent_name, day, status, source_type, manifest_id, manifest_hash, period,
        sum(n)
      from taken group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having sum(n) <> 0
      on conflict on constraint trace_counts_pkey do update set n = c.n + excluded.n
    )
    select count(*) as n from taken`
  return rows[0].n
}

async function foldVerdicts(tx: Transaction, limit: number) {
  const rows = await tx<Folded>`
    with taken as (
      delete from verdict_count_changes
      where ctid = any(array(select ctid from verdict_count_changes limit ${limit}))
      returning *
    ), folded as (
      insert into verdict_counts as c
      select org_id, project_id, agent_name, day, verdict, eval_verdict, reason_code, period, sum(n),
        sum(scored), sum(quality_sum)
      from taken group by 1, 2, 3, 4, 5, 6, 7, 8
      having sum(n) <> 0 or sum(scored) <> 0 or sum(quality_sum) <> 0
      on conflict on constraint verdict_counts_pkey do update set n = c.n + excluded.n,
        scored = c.scored + excluded.scored, quality_sum = c.quality_sum + excluded.quality_sum
    )
    select count(*) as n from taken`
  return rows[0].n
}

async function foldEdges(tx: Transaction, limit: number) {
  const rows = await tx<Folded>`
    with taken as (
      delete from edge_count_changes
      where ctid = any(array(select ctid from edge_count_changes limit ${limit}))
      returning *
    ), folded as (
      insert into edge_counts as c
      select org_id, project_id, parent, child, via, day, sum(n), max(last_seen_at)
      from taken group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0
      on conflict on constraint edge_counts_pkey do update set n = c.n + excluded.n,
        last_seen_at = greatest(c.last_seen_at, excluded.last_seen_at)
    )
    select count(*) as n from taken`
  return rows[0].n
}

async function sumCounts(tx: Queryable) {
  const rows = await tx<[CountSums]>`
    select (select coalesce(sum(n), 0)::int8 from all_trace_counts) as traces,
      (select coalesce(sum(n), 0)::int8 from all_verdict_counts) as verdicts,
      (select coalesce(sum(n), 0)::int8 from all_edge_counts) as edges`
  return rows[0]
}

type Folded = [{ n: number }]
