import { describeFault, isObject } from '../../jobs/rules/core/reader.ts'
import { readTraceScores } from '../../jobs/rules/evals/trace-scores.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import type { Members, ReadSpan } from '../../jobs/rules/import/format.ts'
import {
  decodeTraceRequestInSteps,
  ProtobufError,
} from '../../jobs/rules/import/otlp/otlp-protobuf.ts'
import { spansOfRequest } from '../../jobs/rules/import/otlp/otlp-spans.ts'
import type { TakenSpan } from '../../jobs/rules/import/otlp/otlp-spans.ts'
import { memberOf } from '../../jobs/rules/import/otlp/otlp-values.ts'
import { readMappedSpan } from '../../jobs/rules/import/spans/span-trace.ts'
import { ApiError, badRequest } from '../errors.ts'
import { inTurns, openTurns } from '../in-turns.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'

/** The spans of one request, by the trace and the project that they name. */
export interface SentSpans {
  readonly traces: readonly SentTraceSpans[]
  /** Spans that cannot be stored, and why. */
  readonly refused: readonly RefusedSpans[]
  /** What of the others has no place, each in a sentence. */
  readonly losses: readonly string[]
}

export interface SentTraceSpans {
  readonly traceId: string
  /** What their resource says; null where it says nothing. */
  readonly project: string | null
  readonly spans: ReadSpan[]
  readonly scores: NewScore[]
  /** Of the spans, as characters of JSON. */
  size: number
}

/** Spans that were not taken, with the first reason in a sentence. */
export interface RefusedSpans {
  readonly count: number
  readonly reason: string
}

/**
 * Reads an ExportTraceServiceRequest, with pauses. A span that is not as it should be costs only itself.
 * @param sent what its JSON says, or its bytes in protobuf
 * @throws ApiError 400 for what is none, and 413 for more than MAX_SPANS
 */
export async function readSentSpans(sent: unknown): Promise<SentSpans> {
  const pause = openTurns()
  const request = Buffer.isBuffer(sent) ? await decode(sent, pause) : sent
  if (!isObject(request)) throw badRequest('The body must be an ExportTraceServiceRequest')
  const resources = memberOf(request, 'resourceSpans') ?? []
  if (!Array.isArray(resources)) throw badRequest('resourceSpans must be a list')
  if (countScopes(resources) > MAX_SPANS) throw tooMany('resources and scopes')
  const reading = openReading()
  let count = 0
  for (const span of spansOfRequest(request)) {
    if (++count > MAX_SPANS) throw tooMany('spans')
    if ('rejected' in span) reading.refuse(span.rejected)
    else reading.take(span)
    await pause()
  }
  return reading.end()
}

async function decode(bytes: Buffer, pause: Pause): Promise<Members> {
  try {
    return await inTurns(decodeTraceRequestInSteps(bytes), pause)
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(error.message)
    throw error
  }
}

function openReading() {
  const traces = new Map<string, SentTraceSpans>()
  const refused = new Map<string, number>()
  const losses: string[] = []

  function refuse(reason: string) {
    const isNew = !refused.has(reason) && refused.size >= MAX_REASONS
    const told = isNew ? 'for other reasons' : reason
    refused.set(told, (refused.get(told) ?? 0) + 1)
  }

  function traceOf({ traceId, project }: TakenSpan) {
    const key = JSON.stringify([traceId, project])
    const trace = traces.get(key) ?? { traceId, project, spans: [], scores: [], size: 0 }
    traces.set(key, trace)
    return trace
  }

  return {
    refuse,
    take(span: TakenSpan) {
      const read = readMappedSpan(span.mapped)
      if ('faults' in read) return refuse(read.faults.map(describeFault).slice(0, 3).join('; '))
      const trace = traceOf(span)
      trace.spans.push(read.span)
      trace.size += JSON.stringify(read.span).length
      const rated = readTraceScores({ scores: span.scores })
      for (const score of rated.scores) trace.scores.push(score)
      for (const { message } of [...span.losses, ...read.losses, ...rated.warnings]) {
        if (losses.length < MAX_REASONS) losses.push(message)
      }
    },
    end: (): SentSpans => ({
      traces: [...traces.values()],
      refused: [...refused].map(([reason, count]) => ({ reason, count })),
      losses,
    }),
  }
}

/** A resource without scopes counts as one: those without spans take time too. */
function countScopes(resources: readonly unknown[]) {
  return resources.reduce<number>((sum, resource) => {
    const scopes = isObject(resource) ? memberOf(resource, 'scopeSpans') : undefined
    return sum + (Array.isArray(scopes) ? Math.max(1, scopes.length) : 1)
  }, 0)
}

const tooMany = (what: string) =>
  new ApiError(413, 'payload_too_large', `The request has more than ${MAX_SPANS} ${what}`)

/** Of one request; as many resources and scopes may hold them. */
export const MAX_SPANS = 10_000
/** Told of one request; further ones are counted together. */
const MAX_REASONS = 20
