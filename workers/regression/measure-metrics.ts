import { createHash } from 'node:crypto'
import { checkMetrics } from '../../jobs/rules/regression/metric-check.ts'
import type { Sql } from '../../sql/core/db.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { listMetricValues, listMetricValuesOf } from '../../sql/regression/metric-values.ts'
import type { MetricValueRow } from '../../sql/regression/metric-values.ts'

/**
 * Tests every metric that traces of both manifests have. What candidate traces replay belongs to the
 * baseline however old it is, but speaks for its traffic only where there is none in the window.
 */
export async function measureMetrics(
  sql: Sql,
  agent: AgentKey,
  compared: {
    readonly before: { readonly id: string }
    readonly after: { readonly id: string }
    readonly window: readonly [Date, Date]
  },
) {
  const { before, after, window } = compared
  const candidate = await listMetricValues(sql, agent, after.id, window)
  const replayed = new Set(candidate.flatMap(({ source_trace_id: id }) => id ?? []))
  const sources = await listMetricValuesOf(sql, agent, before.id, [...replayed])
  const recent = await listMetricValues(sql, agent, before.id, window)
  const [old, origins, now] = [recent, sources, candidate].map((rows) =>
    Map.groupBy(rows, ({ metric }) => metric),
  )
  // Beyond `MAX_METRICS`, the metrics of the most traces are kept. They are ordered by name.
  const names = [...(now?.keys() ?? [])]
    .filter((metric) => old?.has(metric) || origins?.has(metric))
    .sort((a, b) => (now?.get(b)?.length ?? 0) - (now?.get(a)?.length ?? 0))
    .slice(0, MAX_METRICS)
    .sort()
  const measured = names.map((metric) => {
    const originals = origins?.get(metric) ?? []
    const arms = { baseline: old?.get(metric) ?? originals, candidate: now?.get(metric) ?? [] }
    const pairs = pairsOf(originals, arms.candidate)
    return { metric, gating: !HYGIENE.has(metric), ...arms, pairs }
  })
  const baseline = [...recent, ...sources]
  const isMeasured = baseline.length > 0 && candidate.length > 0
  return {
    metrics: checkMetrics(measured),
    fingerprint: isMeasured ? fingerprintOf([...baseline, ...candidate]) : null,
  }
}

function pairsOf(originals: readonly MetricValueRow[], values: readonly MetricValueRow[]) {
  const sources = new Map(originals.map((row) => [row.trace_id, row]))
  return values.flatMap((replay) => {
    const source = replay.source_trace_id === null ? null : sources.get(replay.source_trace_id)
    return source ? [{ source, replay }] : []
  })
}

/** Hexadecimal SHA-256 over the sorted values, each once. */
function fingerprintOf(rows: readonly MetricValueRow[]) {
  const lines = rows.map(({ trace_id, metric, value }) => JSON.stringify([trace_id, metric, value]))
  const distinct = [...new Set(lines)].sort()
  return createHash('sha256').update(distinct.join('\n')).digest('hex')
}

/** Metrics that measure how the agent ran, and not its results. */
const HYGIENE = new Set(['latency', 'token_efficiency'])
const MAX_METRICS = 50
