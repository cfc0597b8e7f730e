import { order } from '../../jobs/rules/core/order.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { requestSettling } from '../../jobs/settle-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { upsertScores } from '../evals/eval-scores.ts'
import type { TraceScore } from '../evals/eval-scores.ts'
import { listRegistered, listUsedDrafts, tieTraces } from '../manifests/manifest-links.ts'
import { holdAgents } from '../manifests/manifests.ts'
import type { Charge } from '../org/usage.ts'
import { insertTraces } from '../traces/trace-inserts.ts'
import type { InsertedTrace } from '../traces/trace-inserts.ts'
import { indexTraces } from '../traces/trace-search.ts'
import { activateDrafts } from './activate-draft.ts'
import { chargeUsage } from './charge-usage.ts'

/**
 * Inserts traces as `insertTraces` does. A manifest that is registered at the same time finds those that
 * name its hash, or is found by them.
 */
export async function insertTied(tx: Transaction, rows: Parameters<typeof insertTraces>[1]) {
  const inserted = await insertTraces(tx, rows)
  await tieLate(tx, inserted)
  return inserted
}

/** Traces of one project that a transaction has inserted. */
export interface NewTraces {
  readonly projectId: string
  readonly traceIds: readonly string[]
  /** Theirs, and those that came for traces that were there before. */
  readonly scores: readonly TraceScore[]
}

/** Traces of one project that a request has brought. */
export interface AcceptedTraces extends NewTraces {
  /** New ones that further spans may change: they are judged when they settle. Default none. */
  readonly openIds?: readonly string[]
  /** Those that were running, and that the transaction has finished. */
  readonly finishedIds: readonly string[]
}

/**
 * Completes the insertion of traces of one organization: stores their scores and has them judged.
 */
export async function completeTraces(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  traces: readonly NewTraces[],
): Promise<void> {
  await allEnded([storeScores(tx, orgId, traces), requestJudgements(tx, queue, orgId, traces)])
}

/**
 * Counts new traces. Locks the organization's counter until the transaction ends, so it is called last.
 * @returns undefined when the month's quota holds them; else how many of them it would hold, and the
 * caller has to roll back
 */
export async function chargeTraces(
  tx: Transaction,
  queue: Queue,
  { orgId, quotas, at }: Pick<Charge, 'orgId' | 'quotas' | 'at'>,
  n: number,
): Promise<{ left: number; limit: number } | undefined> {
  if (n === 0) return undefined
  const charge = { orgId, metric: 'traces_ingested', n, quotas, at } as const
  const charged = await chargeUsage(tx, queue, charge)
  return charged.ok ? undefined : charged
}

/**
 * Completes and counts the few traces of requests, and has the drafts activated that these and the finished
 * ones run under, as imported traces never do. Statements are sent together where they may be, which saves round
 * trips; the server runs them one after the other.
 * @returns as `chargeTraces` does
 */
export async function acceptTraces(
  tx: Transaction,
  queue: Queue,
  charge: Pick<Charge, 'orgId' | 'quotas' | 'at'>,
  traces: readonly AcceptedTraces[],
) {
  // In one order, so that two transactions never wait for each other.
  const ordered = traces.toSorted((a, b) => order(a.projectId, b.projectId))
  const n = traces.reduce((sum, { traceIds }) => sum + traceIds.length, 0)
  const others = allEnded([
    completeTraces(tx, queue, charge.orgId, ordered.map(withoutOpen)),
    awaitSettling(tx, queue, charge.orgId, ordered),
    listUsed(tx, charge.orgId, ordered),
  ])
  // Who waits for another's request to settle must not hold the counter, which that one may wait for.
  if (traces.some(({ openIds = [] }) => openIds.length > 0)) await others
  const [over, [, , drafts]] = await allEnded([chargeTraces(tx, queue, charge, n), others])
  // After the counter for all: who holds an activation that another one waits for waits for no counter.
  await activateDrafts(tx, queue, charge.orgId, drafts)
  return over
}

function withoutOpen({ openIds = [], ...traces }: AcceptedTraces): NewTraces {
  const open = new Set(openIds)
  return { ...traces, traceIds: traces.traceIds.filter((id) => !open.has(id)) }
}

/** Makes traces searchable that are judged later, and has those settled whose outermost span is there. */
async function awaitSettling(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  traces: readonly AcceptedTraces[],
) {
  for (const { projectId, openIds = [] } of traces) {
    if (openIds.length === 0) continue
    await indexTraces(tx, orgId, projectId, openIds)
    await requestSettling(queue, tx, orgId, projectId)
  }
}

/**
 * Ties new traces to the manifests that were registered while they were inserted. From here to the end
 * of the transaction none of their agents gets a new version; the next one finds the traces. It comes
 * after the last insertion: one behind it could wait for a transaction that waits for these locks.
 */
export async function tieLate(tx: Transaction, inserted: readonly InsertedTrace[]) {
  const untied = inserted.flatMap(({ untied_agent: agentName, untied_hash: hash, ...trace }) =>
    agentName === null || hash === null ? [] : { ...trace, agentName, hash },
  )
  if (untied.length === 0) return
  const agents = untied.map(({ project_id: projectId, agentName }) => ({ projectId, agentName }))
  // Both are sent at once. The second waits for the locks, and sees what was committed until then.
  const [, registered] = await allEnded([holdAgents(tx, agents), listRegistered(tx, untied)])
  if (registered.length > 0) await tieTraces(tx, registered)
}

/** A statement sent after the transaction would be outside of it, so all have to end, even if one fails. */
async function allEnded<const T extends readonly unknown[]>(works: T) {
  await Promise.allSettled(works)
  return Promise.all(works)
}

/** How items are stored together. */
export interface Together<R> {
  /** Stores items `from` to `to`, exclusive: all of them or none. */
  readonly store: (from: number, to: number) => Promise<R[]>
  /** Whether an error may be one item's, so that the others can be stored without it. */
  readonly isOfItem: (error: unknown) => boolean
  /** Returns the results for an item that cannot be stored. */
  readonly refuse: (index: number, error: unknown) => R[]
}

/**
 * Stores items `from` to `to`, exclusive, in one go, or when that fails half by half, so that an item
 * that cannot be stored costs only itself.
 */
export async function storeByHalves<R>(
  together: Together<R>,
  from: number,
  to: number,
): Promise<R[]> {
  if (from === to) return []
  try {
    return await together.store(from, to)
  } catch (error) {
    if (!together.isOfItem(error)) throw error
    if (to - from === 1) return together.refuse(from, error)
    const half = (from + to) >> 1
    return [
      ...(await storeByHalves(together, from, half)),
      ...(await storeByHalves(together, half, to)),
    ]
  }
}

async function listUsed(tx: Transaction, orgId: string, traces: readonly AcceptedTraces[]) {
  const used = traces.map(({ projectId, traceIds, finishedIds }) =>
    listUsedDrafts(tx, orgId, projectId, [...traceIds, ...finishedIds]),
  )
  return (await allEnded(used)).flat()
}

async function storeScores(tx: Transaction, orgId: string, traces: readonly NewTraces[]) {
  for (const { projectId, scores } of traces) await upsertScores(tx, orgId, projectId, scores)
}

async function requestJudgements(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  traces: readonly NewTraces[],
) {
  for (const { projectId, traceIds } of traces) {
    await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, traceIds)
  }
}
