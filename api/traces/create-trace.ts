import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { listOf } from '../../jobs/shape.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { projectQuery, quotaBody } from '../fields.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { readTraceBody } from './sent-trace.ts'
import type { SentTrace } from './sent-trace.ts'
import { storeTrace } from './store-traces.ts'
import type { StoredTrace } from './stored-trace.ts'
import { traceRequest, warningFields } from './trace-body.ts'

const storedBody = Joi.object({
  id: Joi.string().required(),
  trace_id: Joi.string().required(),
  status: Joi.string().valid('ok').required(),
  agent_name: Joi.string().required(),
  spans: Joi.number().integer().required(),
  llm_calls: Joi.number().integer().required(),
  verdict: Joi.string()
    .valid(...VERDICTS)
    .allow(null)
    .required()
    .description('Null until the trace was judged'),
  created: Joi.boolean().required().description('False when the project had the trace already'),
  updated: Joi.boolean().required().description('The stored trace was running, and was finished'),
  warnings: listOf(Joi.object(warningFields).label('TraceWarning'))
    .required()
    .description('What could not be stored as it was sent'),
}).label('StoredTrace')

const body: CheckedBody<SentTrace> = {
  documented: traceRequest,
  maxBytes: MAX_BODY_BYTES,
  async read(value, reading) {
    const result = await readTraceBody(value, reading)
    if ('value' in result) return result
    const inBody = (field: string) => (field === 'body' ? field : `body.${field}`)
    return { faults: result.faults.map((fault) => ({ ...fault, field: inBody(fault.field) })) }
  },
}

export const createTrace = endpoint('POST', '/traces', {
  summary: 'Store a trace',
  description:
    'Safe to repeat: a trace_id that the project has already answers 200 with the stored trace, which stays as it is, unless it is `running` and the one sent is not: then it becomes the one sent, as a whole, also where that leaves out `agent_name` or `started_at` (`updated`; no quota is used, and scores and annotations that it was given stay). Members nobody knows are kept under metadata.extra when they are small. A faulty score, or a manifest_id that is none of the agent’s (kept as metadata.unknown_manifest_id), is a warning and the trace is stored.',
  access: 'key',
  query: projectQuery,
  body,
  answers: { 200: storedBody, 201: storedBody, 402: quotaBody },
  async handle({ context, principal, query, body }) {
    const project = body.project ?? query.project
    const stored = await storeTrace(context, { ...body, project, principal })
    if (stored instanceof Error) throw stored
    return new Answer(stored.created ? 201 : 200, viewAnswer(stored))
  },
})

function viewAnswer(stored: StoredTrace) {
  return { id: stored.trace_id, status: 'ok', ...stored }
}
