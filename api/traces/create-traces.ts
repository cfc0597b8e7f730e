import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { parseInPieces } from '../../jobs/rules/core/json-pieces.ts'
import type { UnparsedJson } from '../../jobs/rules/core/json-pieces.ts'
import { JsonScan, MAX_VALUES } from '../../jobs/rules/core/json-scan.ts'
import { describeFault, isObject } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { BodyReading, CheckedBody } from '../endpoint.ts'
import { ApiError, isOutrun } from '../errors.ts'
import { projectField, projectQuery, quotaBody } from '../fields.ts'
import { inTurns, openTurns } from '../in-turns.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { readTraceBody } from './sent-trace.ts'
import type { SentTrace } from './sent-trace.ts'
import { storeTrace } from './store-traces.ts'
import type { Outcome } from './store-traces.ts'
import { traceRequest, warningFields } from './trace-body.ts'

/** A trace of a batch, or what is wrong with it. */
type Item =
  { readonly value: SentTrace } | { readonly trace_id: string | null; faults: readonly Fault[] }

const MAX_TRACES = 1000

const body: CheckedBody<readonly Item[]> = {
  documented: Joi.alternatives(
    listOf(traceRequest).min(1).max(MAX_TRACES),
    Joi.object({
      traces: listOf(traceRequest).min(1).max(MAX_TRACES).required(),
      project: projectField.description('Project id or name, of the traces that name none'),
    }).label('TraceBatch'),
  ).example([{ agent_name: 'shop-agent', user_input_preview: 'Where is order 42?' }]),
  maxBytes: 50 << 20,
  maxValues: 2_000_000,
  apart: { name: 'traces', max: MAX_TRACES },
  async read(value, reading) {
    const field = isObject(value) ? 'body.traces' : 'body'
    const list = isObject(value) ? value['traces'] : value
    if (!Array.isArray(list) || list.length < 1 || list.length > MAX_TRACES) {
      const message = `must be a list of 1 to ${MAX_TRACES} traces`
      return { faults: [{ field, message }] }
    }
    const items: Item[] = []
    const pause = openTurns()
    // One after the other: the values of one trace are gone when those of the next are made.
    for (const each of list as UnparsedJson[]) items.push(await readItem(each, reading, pause))
    return { value: items }
  },
}

export const createTraces = endpoint('POST', '/traces/batch', {
  summary: 'Store up to 1,000 traces at once',
  description:
    'A trace that is not as it should be costs only itself, and a faulty score of it only that score (warnings). Each may have what a single one may: 5 MiB and 300,000 values. Every trace of the request is one of count (stored now), updated (stored as `running`, and finished by this one), skipped (the project had it already) and errors. Where an id comes twice, the first is stored and the second is a repetition of it, so one that starts and ends in one request is stored and finished. Where the quota holds only some of them, X-Quota-Exceeded names the metric.',
  access: 'key',
  query: projectQuery,
  body,
  answers: {
    200: Joi.object({
      count: Joi.number().integer().required().description('Stored now'),
      trace_ids: listOf(Joi.string()).required().description('Of those stored now'),
      updated: Joi.number().integer().required().description('Running before, and finished now'),
      skipped: Joi.number().integer().required().description('Stored by an earlier request'),
      errors: listOf(
        Joi.object({
          index: Joi.number().integer().required().description('Place in the request, from 0'),
          trace_id: Joi.string().allow(null).required(),
          code: Joi.string().required(),
          message: Joi.string().required(),
        }).label('BatchError'),
      ).required(),
      warnings: listOf(
        Joi.object({
          index: Joi.number().integer().required(),
          trace_id: Joi.string().required(),
          ...warningFields,
        }).label('BatchWarning'),
      )
        .required()
        .description('What of the traces could not be stored as it was sent'),
    }).label('StoredTraces'),
    402: quotaBody,
  },
  async handle({ context, principal, query, body }) {
    const sent = body.flatMap((item, index) => ('value' in item ? [{ ...item.value, index }] : []))
    const taken = await Promise.all(
      sent.map(async ({ index, ...each }) => {
        const arrival = { ...each, project: each.project ?? query.project, principal }
        const outcome = await storeTrace(context, arrival)
        return { index, trace_id: each.row.trace_id, outcome }
      }),
    )
    const first = taken[0]?.outcome
    const isAll = taken.length === body.length
    if (isAll && first instanceof ApiError && taken.every(isSame(first))) throw first
    // Sent again, those that were stored are skipped.
    for (const { outcome } of taken) if (isOutrun(outcome)) throw outcome
    return new Answer(200, viewBatch(body, taken, context.log), quotaHeader(taken))
  },
})

function viewBatch(items: readonly Item[], taken: readonly Taken[], log: Log) {
  const stored = taken.flatMap(({ outcome }) => (outcome instanceof Error ? [] : [outcome]))
  const created = stored.filter(({ created }) => created)
  const updated = stored.filter(({ updated }) => updated)
  const refused = taken.flatMap(({ outcome, ...each }) =>
    outcome instanceof Error ? [{ ...each, ...describe(outcome, log) }] : [],
  )
  return {
    count: created.length,
    trace_ids: created.map(({ trace_id }) => trace_id),
    updated: updated.length,
    skipped: stored.length - created.length - updated.length,
    errors: [...faulty(items), ...refused].sort((a, b) => a.index - b.index),
    warnings: taken.flatMap(({ outcome, ...each }) =>
      outcome instanceof Error ? [] : outcome.warnings.map((warning) => ({ ...each, ...warning })),
    ),
  }
}

/** Names the metric whose quota refused some of the traces. */
function quotaHeader(taken: readonly Taken[]): Record<string, string> {
  for (const { outcome } of taken) {
    const metric = outcome instanceof ApiError ? outcome.headers[QUOTA_HEADER] : undefined
    if (metric !== undefined) return { [QUOTA_HEADER]: metric }
  }
  return {}
}

async function readItem(
  { bytes }: UnparsedJson,
  reading: BodyReading,
  pause: Pause,
): Promise<Item> {
  const excess = excessOf(bytes)
  if (excess) return { trace_id: null, faults: [{ field: 'body', message: excess }] }
  const value = await inTurns(parseInPieces(bytes), pause)
  const result = await readTraceBody(value, reading, pause)
  if ('value' in result) return result
  const { trace_id, id } = isObject(value) ? value : {}
  const given = trace_id ?? id
  const faults = result.faults.slice(0, MAX_FAULTS_SHOWN)
  return { trace_id: typeof given === 'string' ? given.slice(0, 128) : null, faults }
}

/** A trace of a batch may have what it may have alone. */
function excessOf(bytes: Buffer) {
  if (bytes.length > MAX_BODY_BYTES) return `is larger than ${MAX_BODY_BYTES} bytes`
  if (bytes.length <= MAX_VALUES) return undefined
  const found = new JsonScan({ depth: Infinity, members: Infinity, values: MAX_VALUES }).take(bytes)
  return found && `holds more than ${MAX_VALUES} values`
}

function faulty(items: readonly Item[]) {
  return items.flatMap((item, index) => {
    if ('value' in item) return []
    const message = item.faults.map(describeFault).join('; ')
    return [{ index, trace_id: item.trace_id, code: 'validation_error', message }]
  })
}

/** A reason that refuses every trace is the answer of the request: a quota, or the project it names. */
function isSame(error: ApiError) {
  return ({ outcome }: { outcome: Outcome }) =>
    outcome instanceof ApiError && outcome.code === error.code
}

function describe(error: Extract<Outcome, Error>, log: Log) {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  log.error({ err: error }, 'a trace of a batch could not be stored')
  return { code: 'internal_error', message: 'Internal server error' }
}

/** A trace of the request, with what became of it. */
interface Taken {
  readonly index: number
  readonly trace_id: string
  readonly outcome: Outcome
}
interface Log {
  error(fields: object, text: string): void
}

const QUOTA_HEADER = 'X-Quota-Exceeded'
const MAX_FAULTS_SHOWN = 10
