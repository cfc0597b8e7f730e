import { gather } from '../../jobs/gather.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import { toTraceRow } from '../../jobs/rules/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/trace-row.ts'
import { isDatabaseAway } from '../../sql/db.ts'
import type { Transaction } from '../../sql/db.ts'
import { upsertScores } from '../../sql/eval-scores.ts'
import { insertTraces, listStoredTraces } from '../../sql/traces.ts'
import type { TraceKey } from '../../sql/traces.ts'
import { chargeUsage } from '../../sql/usage.ts'
import type { ApiContext } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'
import { quotaExceeded } from '../quota.ts'
import type { SentTrace } from './read-trace-body.ts'

export interface Arrival extends SentTrace {
  readonly principal: Principal
}

/** Compressed while others are on their way to the database. */
type ReadyTrace = Omit<Arrival, 'trace'> & { readonly row: TraceRow }

/** What is told of a trace that was sent: as it is stored, whether by this request or an earlier one. */
export interface StoredTrace {
  readonly trace_id: string
  readonly agent_name: string
  readonly spans: number
  readonly llm_calls: number
  readonly verdict: string | null
  readonly created: boolean
}

/** An error is the answer for that trace alone. */
export type Outcome = StoredTrace | Error

/**
 * Stores a trace together with those of its organization that other requests of this process send at the
 * same time: all of them count against one quota, so their transactions would wait for each other.
 * @throws when the database is away
 */
export function storeTrace(context: ApiContext, { trace, ...arrival }: Arrival): Promise<Outcome> {
  return storeTogether(context, { ...arrival, row: toTraceRow(trace) })
}

/**
 * Stores traces of one organization with their scores and has them judged, in one transaction. Those
 * beyond its quota are refused. When the transaction fails otherwise, the traces are stored half by
 * half, so that one that cannot be stored costs only itself.
 * @throws when the database is away, for all of them
 */
async function storeTraces(
  context: ApiContext,
  arrivals: readonly ReadyTrace[],
): Promise<Outcome[]> {
  if (arrivals.length === 0) return []
  try {
    return await context.queue.transaction(context.sql, (tx: Transaction) =>
      storeIn(tx, context, arrivals),
    )
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    if (error instanceof OverQuota) return storeWithin(context, arrivals, error)
    if (arrivals.length === 1) return [error as Error]
    const half = arrivals.length >> 1
    return [
      ...(await storeTraces(context, arrivals.slice(0, half))),
      ...(await storeTraces(context, arrivals.slice(half))),
    ]
  }
}

async function storeWithin(context: ApiContext, arrivals: readonly ReadyTrace[], over: OverQuota) {
  const admitted = arrivals.filter((arrival) => !over.refused.has(arrival))
  const outcomes = (await storeTraces(context, admitted)).values()
  return arrivals.map((arrival) =>
    over.refused.has(arrival) ? over.answer : (outcomes.next().value as Outcome),
  )
}

async function storeIn(tx: Transaction, context: ApiContext, arrivals: readonly ReadyTrace[]) {
  const projectOf = await resolveProjects(tx, arrivals)
  const rows = arrivals.map((arrival) => {
    const project = projectOf(arrival)
    return project instanceof Error ? project : toRow(arrival, project)
  })
  const writable = rows.filter(isRow)
  const inserted = new Set((await insertTraces(tx, writable)).map(keyText))
  const created = arrivals.map((_, i) => {
    const row = rows[i] as Row | Error
    // Of two with one id in the same request the first was taken.
    return isRow(row) && inserted.delete(keyText(row))
  })
  const isNew = (_: unknown, i: number) => created[i] as boolean
  const stored = await readStored(
    tx,
    rows.filter((row, i) => !isNew(row, i)),
  )
  const fresh = rows.filter(isNew) as Row[]
  // On their way together, which saves waiting: the server takes them one after the other.
  await allOf([
    storeScores(tx, fresh),
    requestJudgements(tx, context, fresh),
    chargeQuota(tx, context, arrivals.filter(isNew)),
  ])
  return rows.map((row, i) => {
    if (!isRow(row)) return row
    // One that is not found any more was deleted a moment ago.
    return isNew(row, i) ? told(row, true) : (stored.get(keyText(row)) ?? told(row, false))
  })
}

/** Fails when all are over: what one still sends after the transaction would be outside of it. */
async function allOf(works: readonly Promise<void>[]) {
  const results = await Promise.allSettled(works)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** The project of each arrival, each distinct one looked up, or made, once. */
async function resolveProjects(tx: Transaction, arrivals: readonly ReadyTrace[]) {
  const textOf = ({ principal, project }: ReadyTrace) => `${principal.keyId} ${project ?? ''}`
  const found = new Map<string, string | Error>()
  for (const arrival of arrivals) {
    const text = textOf(arrival)
    if (found.has(text)) continue
    try {
      found.set(text, (await writableProject(tx, arrival.principal, arrival.project)).id)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      found.set(text, error)
    }
  }
  return (arrival: ReadyTrace) => found.get(textOf(arrival)) as string | Error
}

function toRow({ principal, row, scores }: ReadyTrace, project_id: string): Row {
  return { ...row, org_id: principal.orgId, project_id, scores }
}

async function readStored(tx: Transaction, rows: readonly (Row | Error)[]) {
  const keys = rows.filter(isRow)
  if (keys.length === 0) return new Map<string, StoredTrace>()
  const stored = await listStoredTraces(tx, keys)
  return new Map(stored.map((trace) => [keyText(trace), told(trace, false)]))
}

async function storeScores(tx: Transaction, rows: readonly Row[]) {
  for (const [first, ...others] of byProject(rows)) {
    const scores = [first, ...others].flatMap(({ trace_id, scores }) =>
      scores.map((score) => ({ ...score, trace_id })),
    )
    await upsertScores(tx, first.org_id, first.project_id, scores)
  }
}

async function requestJudgements(tx: Transaction, { queue }: ApiContext, rows: readonly Row[]) {
  for (const group of byProject(rows)) {
    const ids = group.map(({ trace_id }) => trace_id)
    await requestJudgement(queue, tx, group[0].org_id, group[0].project_id, ids)
  }
}

/** Counts the new traces; of those that do not fit the first ones go. */
async function chargeQuota(tx: Transaction, context: ApiContext, created: readonly ReadyTrace[]) {
  const [first] = created
  if (!first) return
  const { orgId } = first.principal
  const [metric, at] = ['traces_ingested', context.now()] as const
  const charge = { orgId, metric, n: created.length, quotas: context.quotas, at }
  const charged = await chargeUsage(tx, context.queue, charge)
  if (charged.ok) return
  throw new OverQuota(created.slice(charged.left), quotaExceeded(metric, charged.limit, at))
}

function byProject(rows: readonly Row[]) {
  return [...Map.groupBy(rows, ({ project_id }) => project_id).values()] as [Row, ...Row[]][]
}

function told(
  trace: Pick<Row, 'trace_id' | 'agent_name' | 'span_count' | 'llm_call_count'> & {
    verdict?: string | null
  },
  created: boolean,
): StoredTrace {
  return {
    trace_id: trace.trace_id,
    agent_name: trace.agent_name,
    spans: trace.span_count,
    llm_calls: trace.llm_call_count,
    verdict: trace.verdict ?? null,
    created,
  }
}

function isRow(row: Row | Error): row is Row {
  return !(row instanceof Error)
}

function keyText({ org_id, project_id, trace_id }: TraceKey) {
  return `${org_id} ${project_id} ${trace_id}`
}

/** Rolls the transaction back, to be done again without the traces that are refused. */
class OverQuota extends Error {
  readonly refused: ReadonlySet<ReadyTrace>
  readonly answer: ApiError

  constructor(refused: readonly ReadyTrace[], answer: ApiError) {
    super(answer.message)
    this.refused = new Set(refused)
    this.answer = answer
  }
}

/** Traces of one transaction at most. */
const TRACES_TOGETHER = 200
const storeTogether = gather(storeTraces, TRACES_TOGETHER, ({ principal }) => principal.orgId)

type Row = TraceRow & TraceKey & { scores: readonly SentTrace['scores'][number][] }
