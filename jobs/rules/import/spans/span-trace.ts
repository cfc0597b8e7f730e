import { atOnce, inSteps } from '../../core/in-steps.ts'
import { Reader } from '../../core/reader.ts'
import type { Fault } from '../../core/reader.ts'
import { readSpan } from '../../traces/read-trace.ts'
import type { TraceContent } from '../../traces/trace.ts'
import { withoutAgent } from './call-agents.ts'
import { withFinishReason } from './finish-reason.ts'
import { foldSpans } from './fold-spans.ts'
import type { FoldedTrace, FoldOptions } from './fold-spans.ts'
import type { Loss, MappedSpan, Members, ReadSpan } from '../format.ts'
import { readMappedCall } from './mapped-call.ts'
import { REPEATED_CALL, withRepeats } from './repeated-calls.ts'
import { inOrder, putSpan, spansById } from './span-order.ts'
import { withoutResults } from './span-results.ts'
import { lossOf } from './told-members.ts'
import type { Pause } from '../../core/in-steps.ts'

/**
 * Checks and normalises a span like those that a client sends with a trace. A faulty member is as if it
 * were absent, which is a loss; a span without an id is refused. Its LLM call has the span's id, and its
 * times and status where it has none of its own.
 */
export function readMappedSpan(
  mapped: MappedSpan,
): { span: ReadSpan; losses: Loss[] } | { faults: readonly Fault[] } {
  const faults: Fault[] = []
  const read = new Reader(withParent(mapped.span), '', faults)
  const id = read.id('id')
  if (id === null) return { faults: faults.length > 0 ? faults : [NO_ID] }
  const span = readSpan(read, 0)
  if (Object.hasOwn(span.attributes, REPEATED_CALL)) {
    const { [REPEATED_CALL]: _, ...attributes } = span.attributes
    span.attributes = attributes
    faults.push({ field: `attributes.${REPEATED_CALL}`, message: 'is a name that only we give' })
  }
  if (span.parent_span_id === id) {
    span.parent_span_id = read.fault('parent_span_id', 'must be another span')
  }
  const { call, losses } = mapped.call
    ? readMappedCall(mapped.call, span, faults)
    : { call: null, losses: [] }
  const named = [...faults.map(lossOf), ...losses].map(({ code, message }) => ({
    code,
    message: `span ${id}: ${message}`,
  }))
  return { span: withFinishReason({ span, call }), losses: named }
}

/**
 * What spans say together, with what records of the trace itself tell, which goes before it. The order of
 * the spans, and spans that come twice, change nothing; nor does it matter whether some were stored before
 * (`readSpansOf`). Takes O(n log n).
 * @param told members of a trace as `POST /traces` takes them; a faulty one is as if it was absent
 */
export function traceOfSpans(
  spans: Iterable<ReadSpan>,
  told: Members,
  options: FoldOptions,
): FoldedTrace {
  return atOnce(foldSpans(spans, told, options))
}

/** As `traceOfSpans`; it awaits `pause` between its steps. */
export function traceOfSpansInSteps(
  spans: Iterable<ReadSpan>,
  told: Members,
  { pause, ...options }: FoldOptions & { readonly pause: Pause },
): Promise<FoldedTrace> {
  return inSteps(foldSpans(spans, told, options), pause)
}

/**
 * The spans of a stored trace that was made of spans, in order and as they were when they came, if their
 * LLM calls then told neither an outcome of a tool nor whose they are. Works in steps.
 */
export function* readSpansOf({ spans, llm_calls }: TraceContent): Generator<void, ReadSpan[]> {
  const calls = new Map(llm_calls.map((call) => [call.span_id, withoutAgent(call)]))
  const ordered = inOrder(spans.map((span) => ({ span, call: calls.get(span.id) ?? null })))
  yield
  return withRepeats(yield* withoutResults(ordered))
}

/**
 * Spans of a stored trace with those that were sent since; takes a time linear in both. Works in steps,
 * since two spans of one id are compared as JSON. A sent span counts as added when the trace has none of
 * its id, and replaces a stored one when it is the preferred one.
 * @param stored as `readSpansOf` reads them
 */
export function* unionOfSpans(
  stored: readonly ReadSpan[],
  sent: readonly ReadSpan[],
): Generator<void, SpanUnion> {
  const byId = spansById(stored)
  const before = byId.size
  let changed = false
  for (const read of sent) {
    changed = putSpan(byId, read) || changed
    yield
  }
  const spans = changed ? [...byId.values()] : stored
  return { spans, added: byId.size - before, changed }
}

/** An empty text names no span. */
function withParent(span: Members): Members {
  return span['parent_span_id'] === '' ? { ...span, parent_span_id: null } : span
}

const NO_ID: Fault = { field: 'id', message: 'is required' }

interface SpanUnion {
  readonly spans: readonly ReadSpan[]
  readonly added: number
  readonly changed: boolean
}
