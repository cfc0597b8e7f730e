import {
  readSpansOf,
  traceOfSpansInSteps,
  unionOfSpans,
} from '../../jobs/rules/import/spans/span-trace.ts'
import type { ReadSpan } from '../../jobs/rules/import/format.ts'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import { toTraceRowWithin } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { MAX_ITEMS } from '../../jobs/rules/traces/trace.ts'
import { SETTLE_SECONDS } from '../../jobs/settle-traces.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findSpanTrace, listSpanTraces } from '../../sql/traces/span-traces.ts'
import type { StoredSpans } from '../../sql/traces/span-traces.ts'
import type { ApiContext } from '../context.ts'
import { inTurns, openTurns } from '../in-turns.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'
import type { ArrivedTrace, SpanArrival, Told } from './span-arrivals.ts'

/** A trace as it is to be stored. */
export interface UnitedTrace extends ArrivedTrace {
  /** Of the stored trace that it is made of; null for a new one. */
  readonly revision: number | null
  readonly row: TraceRow
}

/**
 * Unites the spans of traces with those that are stored, with pauses. An arrival that is in no trace and
 * not told of is to be tried again: others were enough for one go, or the stored trace is gone meanwhile.
 */
export async function uniteTraces(
  context: ApiContext,
  sql: Queryable,
  traces: readonly ArrivedTrace[],
) {
  const keys = traces.flatMap((each) => keyOf(each) ?? [])
  const stored = new Map(
    (await listSpanTraces(sql, keys)).map((each) => [nameOf(each.project_id, each.trace_id), each]),
  )
  const pause = openTurns()
  const united: UnitedTrace[] = []
  const told: Told[] = []
  for (const trace of traces) {
    const { projectId, traceId } = trace
    const found = projectId === null ? undefined : stored.get(nameOf(projectId, traceId))
    const result = await unite(context, { sql, trace, found, pause })
    if (result.united) united.push(result.united)
    told.push(...result.told)
  }
  return { united, told }
}

async function unite(context: ApiContext, { sql, trace, found, pause }: Uniting): Promise<Result> {
  if (found && !found.made_of_spans) return { told: refuseAll(trace.arrivals, TRACE_EXISTS) }
  const stored = found && (await readStored(sql, trace, found, pause))
  if (found && !stored) return { told: [] }
  const { spans, changed, taken, refused } = await inTurns(
    addSpans(stored?.spans ?? [], trace.arrivals),
    pause,
  )
  const told = refuseAll(refused, TRACE_FULL)
  if (taken.length === 0) return { told }
  if (stored && !changed) return { told: [...told, ...takeAll(taken)] }
  const row = await toSpanRow(context, trace.traceId, spans, pause)
  if (row === undefined) return tooLarge(context, { sql, found, pause, trace }, taken, told)
  if (stored?.content.equals(row.content)) return { told: [...told, ...takeAll(taken)] }
  return { told, united: { ...trace, arrivals: taken, revision: stored?.revision ?? null, row } }
}

/** Where several arrivals are too large together, the first half of them is tried, and the others later. */
function tooLarge(
  context: ApiContext,
  uniting: Uniting,
  taken: readonly SpanArrival[],
  told: readonly Told[],
): Promise<Result> | Result {
  if (taken.length === 1) return { told: [...told, ...refuseAll(taken, TRACE_FULL)] }
  const arrivals = taken.slice(0, taken.length >> 1)
  return unite(context, { ...uniting, trace: { ...uniting.trace, arrivals } })
}

async function readStored(sql: Queryable, trace: ArrivedTrace, found: StoredSpans, pause: Pause) {
  const key = keyOf(trace)
  const { revision, content } =
    (found.content === null ? key && (await findSpanTrace(sql, key)) : found) ?? {}
  if (revision === undefined || !content) return undefined
  const spans = await inTurns(readSpansOf(await decodeContentInSteps(content, pause)), pause)
  return { revision, content, spans }
}

/** Adds spans to those of a trace: of all arrivals, or of those that fit when not all of them do. */
function* addSpans(known: readonly ReadSpan[], arrivals: readonly SpanArrival[]) {
  const all = yield* unionOfSpans(
    known,
    arrivals.flatMap(({ spans }) => spans),
  )
  if (all.spans.length <= MAX_ITEMS.spans) return { ...all, taken: arrivals, refused: [] }
  let { spans, changed } = { spans: known, changed: false }
  const [taken, refused]: [SpanArrival[], SpanArrival[]] = [[], []]
  for (const arrival of arrivals) {
    const more = yield* unionOfSpans(spans, arrival.spans)
    const isFull = more.spans.length > MAX_ITEMS.spans
    ;(isFull ? refused : taken).push(arrival)
    if (isFull) continue
    spans = more.spans
    changed ||= more.changed
  }
  return { spans, changed, taken, refused }
}

async function toSpanRow(
  { now, idleSeconds, contentForm: form }: ApiContext,
  traceId: string,
  spans: readonly ReadSpan[],
  pause: Pause,
): Promise<TraceRow | undefined> {
  const at = now()
  const options = { traceId, now: at, sourceType: 'production', isClosed: false, pause } as const
  // What a span says of the trace and the trace cannot hold stays among the attributes of the span.
  const { trace } = await traceOfSpansInSteps(spans, {}, options)
  await pause()
  const row = await toTraceRowWithin(trace, { form, max: MAX_CONTENT, pause })
  const seconds = trace.status === 'running' ? idleSeconds : SETTLE_SECONDS
  const settles_at = new Date(at.getTime() + seconds * 1000)
  return row && { ...row, made_of_spans: true, settles_at }
}

export function keyOf({ orgId, projectId, traceId }: ArrivedTrace) {
  if (projectId === null) return undefined
  return { org_id: orgId, project_id: projectId, trace_id: traceId }
}

const nameOf = (projectId: string, traceId: string) => `${projectId} ${traceId}`

const takeAll = (arrivals: readonly SpanArrival[]) =>
  arrivals.map((each): Told => [each, { kind: 'taken' }])

function refuseAll(arrivals: readonly SpanArrival[], reason: string) {
  return arrivals.map((each): Told => [each, { kind: 'refused', reason }])
}

/** Characters of a trace's spans and LLM calls as JSON. */
const MAX_CONTENT = 32 << 20
const TRACE_EXISTS = 'trace_exists: the trace was stored as a whole and takes no further spans'
const TRACE_FULL = `trace_full: a trace has at most ${MAX_ITEMS.spans} spans and ${MAX_CONTENT >> 20} MiB`

interface Result {
  readonly told: readonly Told[]
  readonly united?: UnitedTrace
}

interface Uniting {
  readonly sql: Queryable
  readonly trace: ArrivedTrace
  readonly found: StoredSpans | undefined
  readonly pause: Pause
}
