import { randomUUIDv7 } from 'node:crypto'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { Sql } from '../../sql/core/db.ts'
import { deleteVerdicts, upsertVerdicts } from '../../sql/evals/verdicts.ts'
import { linkNamedTraces } from '../../sql/manifests/manifest-links.ts'
import { insertEdges } from '../../sql/traces/agent-edges.ts'
import { settleDue } from '../../sql/traces/settling.ts'
import { copyTraces, encodeTraces } from '../../sql/traces/trace-copy.ts'
import { deleteFindings } from '../../sql/traces/trace-findings.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { updateTraces } from '../../sql/traces/trace-updates.ts'
import { deleteTraces } from '../../sql/traces/traces.ts'
import fc from './property.ts'

/** Months before that of now; `make_trace_period` makes room for them. */
export const PERIODS = ['2001-01-01', '2001-02-01'] as const
const AGENTS = ['a', 'b', 'ü "quoted"'] as const
const STARTS = ['2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00Z', '2025-06-01T12:00:00Z'] as const

const traceNumbers = fc.uniqueArray(fc.nat(14), { minLength: 1, maxLength: 6 })
/** Something that happens to some of 15 traces of a project. */
export const operation = fc.record({
  kind: fc.constantFrom(
    'store',
    'import',
    'judge',
    'revise',
    'settle',
    'link',
    'tell',
    'delete',
    'undecide',
    'untell',
    'touch',
  ),
  traces: traceNumbers,
  seed: fc.nat(1000),
})

export async function apply(
  sql: Sql,
  org: Org,
  { kind, traces, seed }: Operation,
): Promise<unknown> {
  const ids = traces.map(String)
  const { orgId, projectId } = org
  switch (kind) {
    case 'store':
      return store(sql, org, pick(PERIODS, seed), traces, seed)
    case 'import':
      return sql.begin(async (tx) => {
        const rows = traces.map((n) => rowOf(org, n, seed))
        await copyTraces(tx, encodeTraces(orgId, projectId, rows), 0, rows.length)
      })
    case 'judge':
      return judge(sql, org, traces, seed)
    case 'revise':
      return sql.begin((tx) =>
        updateTraces(
          tx,
          traces.map((n) => rowOf(org, n, seed + n)),
        ),
      )
    case 'settle':
      return sql.begin(async (tx) => {
        await tx`update traces set settles_at = now() - interval '1 day'
          where org_id = ${orgId} and project_id = ${projectId} and trace_id = any(${ids}::text[])`
        await settleDue(tx, orgId, projectId, 3)
      })
    case 'link': {
      const agent = { orgId, projectId, agentName: pick(AGENTS, seed) }
      return linkNamedTraces(sql, agent, await ensureManifest(sql, agent), 3)
    }
    case 'tell':
      return tell(sql, org, ids, seed)
    case 'untell':
      return sql.begin((tx) => deleteFindings(tx, orgId, projectId, ids, []))
    case 'undecide':
      return deleteVerdicts(sql, orgId, projectId, ids)
    case 'touch':
      await sql`update traces set metadata = metadata where org_id = ${orgId} and project_id = ${projectId}`
      return
    case 'delete':
      return sql.begin((tx) => deleteTraces(tx, orgId, projectId, ids.slice(0, 1)))
  }
}

/** Stores traces as if it were the month of the period. */
export async function store(
  sql: Sql,
  org: Org,
  period: string,
  traces: readonly number[],
  seed = 0,
) {
  await sql.begin(async (tx) => {
    const later = await tx<{ period: string }[]>`
      delete from trace_periods where period > ${period}::date returning period::text as period`
    await insertTraces(
      tx,
      traces.map((n) => rowOf(org, n, seed)),
    )
    await tx`
      insert into trace_periods (period)
      select unnest(${later.map((row) => row.period)}::text[]::date[]) on conflict do nothing`
  })
}

/** Decides on those of the traces that are there. */
export async function judge(
  sql: Sql,
  { orgId, projectId }: Org,
  traces: readonly number[],
  seed: number,
) {
  const rows = traces.map((n) => ({
    trace_id: String(n),
    verdict: pick(['keep', 'repair', 'drop'] as const, seed + n),
    needs_review: false,
    quality_avg: pick([null, 0.25, 0.1, 0.7], seed * n),
    compat_avg: null,
    eval_verdict: pick([null, 'pass', 'fail'] as const, seed + 2 * n),
    reasons: [
      { rule: 12, code: pick(['score.good', 'score.bad'], seed), subject: 'quality', message: '' },
    ],
    counterfactual: null,
    duplicate_of: null,
    policy_agent_name: '',
    policy_version: 0,
    target_manifest_id: null,
  }))
  await upsertVerdicts(sql, orgId, projectId, rows as never)
}

async function tell(sql: Sql, { orgId, projectId }: Org, ids: readonly string[], seed: number) {
  await sql.begin(async (tx) => {
    const rows = await tx<{ trace_id: string; seen_at: Date }[]>`
      select trace_id, started_at as seen_at from traces
      where org_id = ${orgId} and project_id = ${projectId} and trace_id = any(${ids}::text[]) for key share`
    const edges = rows.map((row) => ({
      ...row,
      parent: pick(AGENTS, seed),
      child: pick(AGENTS, seed + 1),
      via: 'handoff' as const,
    }))
    await insertEdges(tx, orgId, projectId, edges)
  })
}

async function ensureManifest(sql: Sql, { orgId, projectId, agentName }: Agent) {
  await sql`
    insert into manifests (org_id, project_id, agent_name, id, version_number, manifest_hash, shown_hash,
      contract_hash, status, is_closed_world, components_count)
    values (${orgId}, ${projectId}, ${agentName}, ${randomUUIDv7()}, 1, ${`sha256:${HASH}`}, '', '',
      'superseded', false, 0)
    on conflict do nothing`
  const [manifest] = await sql<[{ id: string; manifest_hash: string }]>`
    select id, manifest_hash from manifests
    where org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}`
  return manifest
}

function rowOf({ orgId, projectId }: Org, n: number, seed: number) {
  const trace = {
    trace_id: String(n),
    agent_name: pick(AGENTS, seed),
    status: pick(['running', 'success', 'error'] as const, seed + n),
    source_type: pick(['production', 'replayed'] as const, seed),
    started_at: pick(STARTS, seed * n),
    ...(seed % 3 > 0 && { manifest_hash: pick([HASH, HASH.replaceAll('f', 'e')] as const, n) }),
  }
  const read = readTrace(trace, { traceId: () => '', now: new Date('2026-01-01T00:00:00Z') })
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return { ...toTraceRow(read.trace, 'shared'), ...keyOf({ orgId, projectId }, n) }
}

function keyOf({ orgId, projectId }: Org, n: number) {
  return { org_id: orgId, project_id: projectId, trace_id: String(n) }
}

function pick<T>(values: readonly [T, ...T[]], n: number): T {
  return values[n % values.length] as T
}

const HASH = 'f'.repeat(64)

interface Org {
  readonly orgId: string
  readonly projectId: string
}

type Agent = Org & { readonly agentName: string }
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never
