import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { holdSettling } from '../../sql/traces/settling.ts'
import { keyText } from '../../sql/traces/traces.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'
import { reviseTraces } from '../../sql/transactions/revise-trace.ts'
import { acceptTraces, insertTied } from '../../sql/transactions/store-traces.ts'
import type { ApiContext } from '../context.ts'
import type { ApiError } from '../errors.ts'
import { findProjects, namingOf, writableProject } from '../projects.ts'
import { quotaExceeded } from '../quota.ts'
import type { SpanArrival, Told } from './span-arrivals.ts'
import type { UnitedTrace } from './unite-spans.ts'

/**
 * Writes traces of one organization: new ones, and those that are still as they were when the spans were
 * united. Nobody waits for the lock of a trace longer than for these statements.
 * @returns what became of the arrivals that were written; the others were overtaken
 * @throws OverQuota, which rolls everything back
 */
export async function writeSpanTraces(
  tx: Transaction,
  context: ApiContext,
  united: readonly UnitedTrace[],
): Promise<Told[]> {
  const traces = await assignProjects(tx, united)
  const projects = [...new Set(traces.map(({ row }) => row.project_id))].sort()
  for (const projectId of projects) await holdSettling(tx, projectId)
  const created = await insertNew(tx, traces)
  const revised = await revise(tx, context, traces)
  await accept(tx, context, created, revised)
  return [...created, ...revised].flatMap(({ arrivals }) =>
    arrivals.map((each): Told => [each, { kind: 'taken' }]),
  )
}

/** Makes the projects that are named and not there yet. */
async function assignProjects(
  tx: Transaction,
  united: readonly UnitedTrace[],
): Promise<AssignedTrace[]> {
  const unplaced = united.filter(({ projectId }) => projectId === null).map(firstOf)
  const made = await findProjects(
    unplaced,
    async ({ principal, project }) => (await writableProject(tx, principal, project)).id,
  )
  return united.map((trace) => {
    const project_id = trace.projectId ?? (made.get(namingOf(firstOf(trace))) as string)
    return { ...trace, row: { ...trace.row, org_id: trace.orgId, project_id } }
  })
}

const firstOf = ({ arrivals }: UnitedTrace) => arrivals[0] as SpanArrival

async function insertNew(tx: Transaction, traces: readonly AssignedTrace[]) {
  const sent = traces.filter(({ revision }) => revision === null)
  if (sent.length === 0) return []
  const inserted = new Set((await insertTied(tx, sent.map(rowOf))).map(keyText))
  // Two names may stand for one project that is new: of one trace the first was inserted.
  return sent.filter(({ row }) => inserted.delete(keyText(row)))
}

async function revise(tx: Transaction, { queue }: ApiContext, traces: readonly AssignedTrace[]) {
  const known = new Map(
    traces.flatMap((each) => (each.revision === null ? [] : [[keyText(each.row), each] as const])),
  )
  const revised = await reviseTraces(
    tx,
    queue,
    [...known.values()].map(({ row, revision }) => ({
      key: row,
      change: (stored) => (stored.made_of_spans && stored.revision === revision ? row : undefined),
    })),
  )
  return revised.map((key) => known.get(keyText(key)) as AssignedTrace)
}

async function accept(
  tx: Transaction,
  { queue, quotas, now }: ApiContext,
  created: readonly AssignedTrace[],
  revised: readonly AssignedTrace[],
) {
  const [first] = [...created, ...revised]
  if (!first) return
  const at = now()
  const isNew = new Set(created)
  const groups = Map.groupBy([...created, ...revised], ({ row }) => row.project_id)
  const accepted = [...groups].map(([projectId, group]) => {
    const newIds = idsOf(group.filter((each) => isNew.has(each)))
    return {
      projectId,
      traceIds: newIds,
      openIds: newIds,
      finishedIds: idsOf(group.filter((each) => !isNew.has(each))),
      scores: group.flatMap(scoresOf),
    }
  })
  const over = await acceptTraces(tx, queue, { orgId: first.orgId, quotas, at }, accepted)
  if (!over) return
  const answer = quotaExceeded({ metric: 'traces_ingested', asked: created.length, ...over }, at)
  throw new OverQuota(
    created.slice(over.left).flatMap(({ arrivals }) => arrivals),
    answer,
  )
}

function scoresOf({ arrivals, traceId }: AssignedTrace) {
  return arrivals.flatMap(({ scores }) => scores.map((each) => ({ ...each, trace_id: traceId })))
}

const rowOf = ({ row }: AssignedTrace) => row
const idsOf = (traces: readonly AssignedTrace[]) => traces.map(({ traceId }) => traceId)

/** Rolls the transaction back; it is repeated without the traces that are refused. */
export class OverQuota extends Error {
  readonly refused: ReadonlySet<SpanArrival>
  readonly answer: ApiError

  constructor(refused: readonly SpanArrival[], answer: ApiError) {
    super(answer.message)
    this.refused = new Set(refused)
    this.answer = answer
  }
}

type AssignedTrace = UnitedTrace & { readonly row: TraceRow & TraceKey }
