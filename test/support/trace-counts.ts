import type { Sql } from '../../sql/core/db.ts'

/** What the counts of an organization say, and what counting its rows one by one says; both sorted. */
export async function readCounts(sql: Sql, orgId: string) {
  const [traces, verdicts, edges] = await Promise.all([
    sql`select project_id, agent_name, day::text as day, status, source_type, manifest_id, manifest_hash,
        period::text as period, sum(n)::int as n
      from all_trace_counts where org_id = ${orgId}
      group by 1, 2, 3, 4, 5, 6, 7, all_trace_counts.period having sum(n) <> 0`,
    sql`select project_id, agent_name, day::text as day, verdict, eval_verdict, reason_code,
        period::text as period, sum(n)::int as n, sum(scored)::int as scored,
        sum(quality_sum)::float8 as quality_sum
      from all_verdict_counts where org_id = ${orgId}
      group by 1, 2, 3, 4, 5, 6, all_verdict_counts.period
      having sum(n) <> 0 or sum(scored) <> 0 or sum(quality_sum) <> 0`,
    sql`select project_id, parent, child, via, day::text as day, sum(n)::int as n
      from all_edge_counts where org_id = ${orgId} group by 1, 2, 3, 4, 5 having sum(n) <> 0`,
  ])
  return { traces: sorted(traces), verdicts: sorted(verdicts), edges: sorted(edges) }
}

/** The same, counted row by row. */
export async function countRows(sql: Sql, orgId: string) {
  const traces = await sql<Stored[]>`
    select project_id, agent_name, started_at, status, source_type, coalesce(manifest_id::text, '') as manifest_id,
      coalesce(manifest_hash, '') as manifest_hash, period::text as period
    from traces where org_id = ${orgId}`
  const verdicts = await sql<Decided[]>`
    select t.project_id, t.agent_name, t.started_at, v.verdict, coalesce(v.eval_verdict, '') as eval_verdict,
      coalesce(v.reasons -> 0 ->> 'code', '') as reason_code, t.period::text as period, v.quality_avg
    from traces t join verdicts v using (org_id, project_id, period, trace_id) where t.org_id = ${orgId}`
  const edges = await sql<{ seen_at: Date }[]>`
    select project_id, parent, child, via, seen_at from agent_edges where org_id = ${orgId}`
  return {
    traces: tally(
      traces.map(({ started_at, manifest_hash, ...row }) => ({
        ...row,
        day: dayOf(started_at),
        manifest_hash: row.manifest_id === '' ? manifest_hash : '',
      })),
    ),
    verdicts: tallyQuality(verdicts),
    edges: tally(edges.map(({ seen_at, ...row }) => ({ ...row, day: dayOf(seen_at) }))),
  }
}

function tally<Key extends object>(keys: readonly Key[]) {
  const groups = Map.groupBy(keys, canonical)
  return sorted([...groups.values()].map((group) => ({ ...group[0], n: group.length })))
}

function tallyQuality(verdicts: readonly Decided[]) {
  const rows = verdicts.map(({ started_at, quality_avg, ...key }) => ({
    key: { ...key, day: dayOf(started_at) },
    quality_avg,
  }))
  const groups = [...Map.groupBy(rows, ({ key }) => canonical(key)).values()]
  return sorted(
    groups.map((group) => {
      const qualities = group.flatMap(({ quality_avg }) => quality_avg ?? [])
      // In hundredths, which add up exactly.
      const quality_sum =
        qualities.reduce((sum, quality) => sum + Math.round(quality * 100), 0) / 100
      return { ...group[0]?.key, n: group.length, scored: qualities.length, quality_sum }
    }),
  )
}

function sorted(rows: readonly object[]) {
  return rows.map(canonical).sort()
}

function canonical(row: object) {
  return JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function dayOf(time: Date) {
  return time.toISOString().slice(0, 10)
}

interface Stored {
  started_at: Date
  manifest_id: string
  manifest_hash: string
}

interface Decided {
  started_at: Date
  quality_avg: number | null
}
