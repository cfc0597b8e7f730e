import type { Assembled, Loss, Members, Part, PartsFormat } from '../format.ts'
import { fingerprint } from '../format.ts'
import type { SpanOrigin } from './otlp-origin.ts'
import { mapOtlpSpan } from './otlp-span.ts'
import type { MappedOtlpSpan } from './otlp-span.ts'
import { isLoneSpan, sentSpans } from './otlp-spans.ts'
import type { SentSpan } from './otlp-spans.ts'
import { memberOf } from './otlp-values.ts'

/**
 * Requests of OpenTelemetry, `{resourceSpans: [...]}`, as its file exporter writes one a line, one of
 * their ResourceSpans alone, `{resource, scopeSpans: [...]}`, or one of their spans alone, as Phoenix lists
 * them. What a request says of all spans of a scope is a part of its own in each of their traces.
 */
export const otlp: PartsFormat = {
  matches: (record) =>
    NAMES.some((name) => memberOf(record, name) !== undefined) || isLoneSpan(record),
  read(record) {
    const losses: Loss[] = []
    const parts: Part[] = []
    const originIdOf = openOrigins()
    const told = new Set<string>()
    for (const sent of sentSpans(record)) {
      if ('rejected' in sent) {
        losses.push({ code: 'span_refused', message: sent.rejected })
        continue
      }
      const origin = originIdOf(sent.origin)
      const named = `${origin}${sent.traceId}`
      if (!told.has(named)) parts.push(originPart(sent, origin))
      told.add(named)
      parts.push(spanPart(sent, origin))
    }
    const [first] = losses
    return parts.length === 0 && first
      ? { code: 'invalid_record', message: first.message }
      : { parts, losses }
  },
  assemble(parts) {
    const { span: spans = [], trace: origins = [] } = Object.groupBy(parts, ({ kind }) => kind)
    const byId = new Map(distinct(origins).map(({ id, value }) => [id, value]))
    const mapped = distinct(spans).map((part) => {
      const { span, origin } = part.value as unknown as SpanValue
      const { resource = {}, scope = {} } = (byId.get(origin) ?? {}) as Partial<SpanOrigin>
      return mapOtlpSpan({ spanId: part.id, span, origin: { resource, scope } })
    })
    const lost = [...byId.values()].flatMap(({ losses }) => losses as Loss[])
    return assembled(mapped, lost)
  },
}

/** The id of what is said of a scope, which is worked out once for all of its spans. */
function openOrigins() {
  const ids = new Map<SpanOrigin, string>()
  return (origin: SpanOrigin) => {
    const id = ids.get(origin) ?? fingerprint(origin)
    ids.set(origin, id)
    return id
  }
}

function originPart({ traceId, origin }: SentSpan, id: string): Part {
  return { trace_id: traceId, kind: 'trace', id, value: { ...origin } }
}

function spanPart({ traceId, spanId, span }: SentSpan, origin: string): Part {
  return {
    trace_id: traceId,
    kind: 'span',
    id: spanId,
    value: { span, origin } satisfies SpanValue,
  }
}

/** Each part once, in an order that does not depend on theirs. */
function distinct(parts: readonly Part[]): Part[] {
  const groups = [...Map.groupBy(parts, ({ id }) => id)]
  return groups
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group]) => (group.length === 1 ? group : distinctOf(group)))
}

function distinctOf(group: readonly Part[]): Part[] {
  const byText = new Map(group.map((part) => [JSON.stringify(part.value), part]))
  return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
}

function assembled(mapped: readonly MappedOtlpSpan[], lost: readonly Loss[]): Assembled {
  return {
    spans: mapped.map((each) => each.mapped),
    told: {},
    scores: mapped.flatMap(({ scores }) => scores),
    corrections: [],
    losses: [...lost, ...mapped.flatMap(({ losses }) => losses)],
    origin: {},
  }
}

const NAMES = ['resourceSpans', 'scopeSpans']

interface SpanValue {
  /** As it was sent. */
  readonly span: Members
  /** Id of the part that says what is said of all spans of its scope. */
  readonly origin: string
}
