import { batchCalls } from '../../jobs/batch-calls.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { unknownManifest } from '../../jobs/rules/traces/trace-warning.ts'
import { isDatabaseAway } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { InsertedTrace } from '../../sql/traces/trace-inserts.ts'
import { keyText } from '../../sql/traces/traces.ts'
import { finishTraces } from '../../sql/transactions/revise-trace.ts'
import { acceptTraces, insertTied, storeByHalves } from '../../sql/transactions/store-traces.ts'
import type { AcceptedTraces } from '../../sql/transactions/store-traces.ts'
import type { ApiContext } from '../context.ts'
import type { ApiError } from '../errors.ts'
import { quotaExceeded } from '../quota.ts'
import { assignProjects } from './assign-projects.ts'
import type { Arrival, AssignedTrace } from './assign-projects.ts'
import { readStored, viewStored } from './stored-trace.ts'
import type { StoredTrace } from './stored-trace.ts'

/** What became of a trace; an error is the answer for that trace alone. */
export type Outcome = StoredTrace | Error

/**
 * Stores traces of one organization with their scores, finishes those that are stored as running, and has
 * them judged, in one transaction. Traces beyond the quota are refused. When the transaction fails for
 * another reason, the traces are stored half by half.
 * @throws when the database is away, for all of them
 */
function storeTraces(context: ApiContext, arrivals: readonly Arrival[]): Promise<Outcome[]> {
  return storeByHalves<Outcome>(
    {
      store: (from, to) => storeWithinQuota(context, arrivals.slice(from, to)),
      isOfItem: (error) => !isDatabaseAway(error),
      refuse: (_, error) => [error instanceof Error ? error : new Error(String(error))],
    },
    0,
    arrivals.length,
  )
}

async function storeWithinQuota(context: ApiContext, arrivals: readonly Arrival[]) {
  try {
    return await context.queue.transaction(context.sql, (tx: Transaction) =>
      storeIn(tx, context, arrivals),
    )
  } catch (error) {
    if (error instanceof OverQuota) return storeWithout(context, arrivals, error)
    throw error
  }
}

async function storeWithout(context: ApiContext, arrivals: readonly Arrival[], over: OverQuota) {
  const admitted = arrivals.filter((arrival) => !over.refused.has(arrival))
  const outcomes = await storeTraces(context, admitted)
  const outcomeOf = new Map(admitted.map((arrival, i) => [arrival, outcomes[i]]))
  return arrivals.map((arrival) => outcomeOf.get(arrival) ?? over.answer)
}

async function storeIn(tx: Transaction, context: ApiContext, arrivals: readonly Arrival[]) {
  const assigned = await assignProjects(tx, arrivals)
  const writable = assigned.flatMap((each) => (each instanceof Error ? [] : [each]))
  const created = await insert(tx, writable)
  const known = writable.filter((each) => !created.has(each))
  const finished = await finishTraces(tx, context.queue, rowsOf(known))
  const stored = await readStored(tx, rowsOf(known.filter(({ row }) => !finished.has(row))))
  const updated = known.filter(({ row }) => finished.has(row))
  await accept(tx, context, [...created.keys()], updated)
  return assigned.map((each) => {
    if (each instanceof Error) return each
    const { row, arrival } = each
    const insertion = created.get(each)
    if (insertion) return viewStored(row, { created: true, warnings: warningsOf(each, insertion) })
    const revision = finished.get(row)
    if (revision) return viewStored(row, { updated: true, warnings: warningsOf(each, revision) })
    // A trace that is not found any more was deleted a moment ago.
    const found = stored.get(keyText(row)) ?? viewStored(row)
    return { ...found, warnings: arrival.warnings }
  })
}

/** Inserts the traces whose ids are new, and returns those with what was inserted. */
async function insert(tx: Transaction, traces: readonly AssignedTrace[]) {
  const rows = rowsOf(traces)
  const inserted = new Map((await insertTied(tx, rows)).map((each) => [keyText(each), each]))
  const created = new Map<AssignedTrace, InsertedTrace>()
  for (const each of traces) {
    const key = keyText(each.row)
    const insertion = inserted.get(key)
    if (insertion) created.set(each, insertion)
    // When a request sends an id twice, the first trace was inserted.
    inserted.delete(key)
  }
  return created
}

function warningsOf({ arrival, row }: AssignedTrace, { manifest_id }: Tied) {
  if (row.manifest_id === null || row.manifest_id === manifest_id) return arrival.warnings
  return [unknownManifest(row.manifest_id), ...arrival.warnings]
}

/**
 * Stores the scores of all, and counts the new ones against the quota.
 * @throws OverQuota with the last ones when not all of them fit
 */
async function accept(
  tx: Transaction,
  { queue, quotas, now }: ApiContext,
  created: readonly AssignedTrace[],
  updated: readonly AssignedTrace[],
) {
  const [first] = [...created, ...updated]
  if (!first) return
  const at = now()
  const charge = { orgId: first.row.org_id, quotas, at }
  const over = await acceptTraces(tx, queue, charge, byProject(created, updated))
  if (!over) return
  const answer = quotaExceeded({ metric: 'traces_ingested', asked: created.length, ...over }, at)
  throw new OverQuota(
    created.slice(over.left).map(({ arrival }) => arrival),
    answer,
  )
}

function byProject(
  created: readonly AssignedTrace[],
  updated: readonly AssignedTrace[],
): AcceptedTraces[] {
  const isNew = new Set(created)
  const groups = Map.groupBy([...created, ...updated], ({ row }) => row.project_id)
  return [...groups].map(([projectId, group]) => ({
    projectId,
    traceIds: idsOf(group.filter((each) => isNew.has(each))),
    finishedIds: idsOf(group.filter((each) => !isNew.has(each))),
    scores: group.flatMap(({ arrival, row: { trace_id } }) =>
      arrival.scores.map((score) => ({ ...score, trace_id })),
    ),
  }))
}

function idsOf(traces: readonly AssignedTrace[]) {
  return traces.map(({ row }) => row.trace_id)
}

function rowsOf(traces: readonly AssignedTrace[]) {
  return traces.map(({ row }) => row)
}

/** Rolls the transaction back; it is repeated without the traces that are refused. */
class OverQuota extends Error {
  readonly refused: ReadonlySet<Arrival>
  readonly answer: ApiError

  constructor(refused: readonly Arrival[], answer: ApiError) {
    super(answer.message)
    this.refused = new Set(refused)
    this.answer = answer
  }
}

/** Most traces in one transaction. */
const TRACES_TOGETHER = 500
/** Most bytes of traces in one transaction, unless a single trace has more. */
const BYTES_TOGETHER = 4 << 20

/**
 * Stores a trace together with those that other requests of its organization send to this process at the
 * same time. All of them count against one quota, so their transactions would wait for each other at their
 * end. Until then two run side by side. What is sent of one trace keeps its order.
 * @throws when the database is away
 */
export const storeTrace: (context: ApiContext, arrival: Arrival) => Promise<Outcome> = batchCalls(
  storeTraces,
  TRACES_TOGETHER,
  {
    groupOf: ({ principal }) => principal.orgId,
    processOf: ({ queue }) => queue,
    weights: { of: ({ size }) => size, max: BYTES_TOGETHER },
    beside: { calls: 2, keyOf: ({ row }) => row.trace_id },
  },
)

/** A trace that was written, with the manifest it was tied to. */
type Tied = Pick<TraceRow, 'manifest_id'>
