import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { isObject } from '../../jobs/rules/reader.ts'
import type { Fault } from '../../jobs/rules/reader.ts'
import { endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { ApiError } from '../errors.ts'
import { projectField, quotaBody } from '../fields.ts'
import { readTraceBody } from './read-trace-body.ts'
import type { SentTrace } from './read-trace-body.ts'
import { storeTrace } from './store-traces.ts'
import type { Outcome } from './store-traces.ts'
import { traceRequest } from './trace-fields.ts'

/** A trace of a batch, or what is wrong with it. */
type Item =
  { readonly value: SentTrace } | { readonly trace_id: string | null; faults: readonly Fault[] }

const body: CheckedBody<readonly Item[]> = {
  documented: Joi.alternatives(
    Joi.array().items(traceRequest).min(1).max(1000),
    Joi.object({ traces: Joi.array().items(traceRequest).min(1).max(1000).required() }).label(
      'TraceBatch',
    ),
  ).example([{ agent_name: 'shop-agent', user_input_preview: 'Where is order 42?' }]),
  maxBytes: 50 << 20,
  read(value, now) {
    const [field, list] = isObject(value) ? ['body.traces', value['traces']] : ['body', value]
    if (!Array.isArray(list) || list.length < 1 || list.length > MAX_TRACES) {
      const message = `${field} must be a list of 1 to ${MAX_TRACES} traces`
      return { faults: [{ field: field as string, message }] }
    }
    return { value: list.map((each: unknown) => readItem(each, now)) }
  },
}

export const createTraces = endpoint('POST', '/traces/batch', {
  area: 'traces',
  summary: 'Store up to 1,000 traces at once',
  description:
    'A trace that is not as it should be costs only itself. Every trace of the request is one of count (stored now), skipped (the project had it already) and errors.',
  access: 'key',
  query: shape({}, { project: projectField }),
  body,
  answers: {
    200: Joi.object({
      count: Joi.number().integer().required().description('Stored now'),
      trace_ids: listOf(Joi.string()).required().description('Of those stored now'),
      skipped: Joi.number().integer().required().description('Stored by an earlier request'),
      errors: listOf(
        Joi.object({
          index: Joi.number().integer().required().description('Place in the request, from 0'),
          trace_id: Joi.string().allow(null).required(),
          code: Joi.string().required(),
          message: Joi.string().required(),
        }).label('BatchError'),
      ).required(),
    }).label('StoredTraces'),
    402: quotaBody,
  },
  async handle({ context, principal, query, body }) {
    const sent = body.flatMap((item, index) => ('value' in item ? [{ ...item.value, index }] : []))
    const arrivals = sent.map((each) => ({
      ...each,
      project: each.project ?? query.project,
      principal,
    }))
    const outcomes = await Promise.all(arrivals.map((arrival) => storeTrace(context, arrival)))
    const stored = outcomes.flatMap((outcome) => (outcome instanceof Error ? [] : [outcome]))
    const refused = outcomes.flatMap((outcome, i) => {
      const { index, trace } = sent[i] as (typeof sent)[number]
      return outcome instanceof Error
        ? [{ index, trace_id: trace.trace_id, ...describe(outcome, context.log) }]
        : []
    })
    const [first] = outcomes
    if (
      outcomes.length === body.length &&
      first instanceof ApiError &&
      outcomes.every(isSame(first))
    ) {
      throw first
    }
    const created = stored.filter(({ created }) => created)
    return {
      count: created.length,
      trace_ids: created.map(({ trace_id }) => trace_id),
      skipped: stored.length - created.length,
      errors: [...faulty(body), ...refused].sort((a, b) => a.index - b.index),
    }
  },
})

function readItem(value: unknown, now: Date): Item {
  const result = readTraceBody(value, now)
  if ('value' in result) return result
  const { trace_id, id } = isObject(value) ? value : {}
  const given = trace_id ?? id
  return { trace_id: typeof given === 'string' ? given.slice(0, 128) : null, ...result }
}

function faulty(items: readonly Item[]) {
  return items.flatMap((item, index) => {
    if ('value' in item) return []
    const message = item.faults
      .slice(0, MAX_FAULTS_TOLD)
      .map((fault) => fault.message)
      .join('; ')
    return [{ index, trace_id: item.trace_id, code: 'validation_error', message }]
  })
}

/** Where every trace is refused for one reason, that is the answer: a quota, or the project named. */
function isSame(error: ApiError) {
  return (outcome: Outcome) => outcome instanceof ApiError && outcome.code === error.code
}

function describe(
  error: Extract<Outcome, Error>,
  log: { error(fields: object, text: string): void },
) {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  log.error({ err: error }, 'a trace of a batch could not be stored')
  return { code: 'internal_error', message: 'Internal server error' }
}

const MAX_TRACES = 1000
const MAX_FAULTS_TOLD = 10
