import { isObject } from '../../core/reader.ts'
import type { Loss, MappedSpan, Members } from '../format.ts'
import { readOrigin, readResource } from './otlp-origin.ts'
import type { SpanOrigin } from './otlp-origin.ts'
import { isLarger } from './otlp-size.ts'
import { mapOtlpSpan } from './otlp-span.ts'
import { hexId, memberOf, SPAN_ID_BYTES, TRACE_ID_BYTES } from './otlp-values.ts'

/** A span of a request as it was sent. */
export interface SentSpan {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  readonly span: Members
  /** One object for all spans of a scope. */
  readonly origin: SpanOrigin
}

/** A span of a request in our terms. */
export interface TakenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly mapped: MappedSpan
  /** What the resource attribute `project` says. */
  readonly project: string | null
  /** Feedback that the span tells of, as `POST /traces` takes scores. */
  readonly scores: readonly Members[]
  readonly losses: readonly Loss[]
}

/** What of a request is no span. */
export interface RejectedSpan {
  /** A sentence that names its place in the request. */
  readonly rejected: string
}

/**
 * The spans of an ExportTraceServiceRequest, each mapped when it is asked for. One that is so large that
 * mapping it would keep others waiting is rejected.
 * @param request its JSON encoding, or one of its ResourceSpans or spans alone
 */
export function* spansOfRequest(request: Members): Generator<TakenSpan | RejectedSpan, void> {
  let known: SpanOrigin | undefined
  for (const sent of sentSpans(request)) {
    if ('rejected' in sent) {
      yield sent
      continue
    }
    const { origin, traceId, spanId, span } = sent
    if (isLarger(span, MAX_SPAN)) {
      yield { rejected: TOO_LARGE }
      continue
    }
    const { mapped, scores, losses } = mapOtlpSpan(sent)
    const { project } = origin.resource
    yield {
      traceId,
      spanId,
      mapped,
      project: typeof project === 'string' && project !== '' ? project : null,
      scores,
      losses: origin === known ? losses : [...origin.losses, ...losses],
    }
    known = origin
  }
}

/** The same as they were sent. */
export function* sentSpans(request: Members): Generator<SentSpan | RejectedSpan, void> {
  if (isLoneSpan(request)) yield identified({ message: request, path: '' }, UNKNOWN)
  for (const resource of resourcesIn(request)) {
    if ('rejected' in resource) yield resource
    else yield* spansOfResource(resource)
  }
}

/** Whether a record is a span by itself. */
export function isLoneSpan(record: Members): boolean {
  const has = (name: string) => memberOf(record, name) !== undefined
  return (
    has('traceId') &&
    has('spanId') &&
    (has('startTimeUnixNano') || Array.isArray(record['attributes']))
  )
}

function resourcesIn(request: Members): Iterable<Placed | RejectedSpan> {
  if (memberOf(request, 'resourceSpans') !== undefined) {
    return placedIn({ message: request, path: '' }, 'resourceSpans')
  }
  if (memberOf(request, 'scopeSpans') !== undefined) return [{ message: request, path: '' }]
  return []
}

function* spansOfResource(resource: Placed): Generator<SentSpan | RejectedSpan, void> {
  const from = readResource(resource.message)
  for (const scope of placedIn(resource, 'scopeSpans')) {
    if ('rejected' in scope) {
      yield scope
      continue
    }
    const origin = readOrigin(from, scope.message)
    for (const span of placedIn(scope, 'spans')) {
      yield 'rejected' in span ? span : identified(span, origin)
    }
  }
}

/** The objects of a list, each with its place in the request. */
function* placedIn(
  { message, path }: Placed,
  name: string,
): Generator<Placed | RejectedSpan, void> {
  const list = memberOf(message, name) ?? []
  if (!Array.isArray(list)) {
    yield { rejected: `${path}${name} must be a list` }
    return
  }
  for (const [index, item] of list.entries()) {
    const at = `${path}${name}.${index}`
    yield isObject(item)
      ? { message: item, path: `${at}.` }
      : { rejected: `${at} must be an object` }
  }
}

function identified({ message: span, path }: Placed, origin: SpanOrigin): SentSpan | RejectedSpan {
  const traceId = hexId(memberOf(span, 'traceId'), TRACE_ID_BYTES)
  if (!traceId) return rejected(`${path}traceId`, traceId, TRACE_ID_BYTES)
  const spanId = hexId(memberOf(span, 'spanId'), SPAN_ID_BYTES)
  if (!spanId) return rejected(`${path}spanId`, spanId, SPAN_ID_BYTES)
  return { traceId, spanId, span, origin }
}

function rejected(path: string, id: string | null | undefined, bytes: number): RejectedSpan {
  const form = `must be ${bytes} bytes as hexadecimal digits or base64`
  return { rejected: `${path} ${id === undefined ? form : 'must not be empty or all zeros'}` }
}

/** Of values as many as 5,000 attributes have that are texts. */
const MAX_SPAN = { values: 20_000, characters: 8 << 20 }
/** Nothing tells who made a span that is by itself. */
const UNKNOWN: SpanOrigin = { resource: {}, scope: {}, losses: [] }
const TOO_LARGE = `span_too_large: a span has at most ${MAX_SPAN.values} values and ${MAX_SPAN.characters >> 20} MiB`

interface Placed {
  readonly message: Members
  /** Where its members are: empty, or with a dot at the end. */
  readonly path: string
}
