import Joi from 'joi'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { count, int, listOf, oneOf, shape, time } from '../../jobs/shape.ts'
import { VIOLATION_SEVERITY } from '../../jobs/rules/manifests/violation.ts'
import type { ViolationKind } from '../../jobs/rules/manifests/violation.ts'
import { MAX_ALIKE, MAX_OF_TRACE } from '../../jobs/rules/manifests/violations.ts'
import * as contractViolations from '../../sql/manifests/contract-violations.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField, times } from '../fields.ts'
import { COUNT_LIMIT } from '../pagination.ts'
import { agentPath, findAgent } from './agent.ts'

const COUNTED = `Each kind is counted up to ${COUNT_LIMIT.toLocaleString('en')}`

const KINDS = Object.keys(VIOLATION_SEVERITY).sort() as ViolationKind[]

const violationBody = Joi.object({
  id: Joi.string().guid().required(),
  trace_id: Joi.string().required(),
  manifest_id: nullable(Joi.string().guid()),
  version_label: nullable(Joi.string()),
  kind: Joi.string()
    .valid(...KINDS)
    .required(),
  severity: Joi.string().valid('high', 'medium', 'low').required(),
  subject: Joi.string().required(),
  expected: nullable(Joi.string()),
  observed: nullable(Joi.string()),
  span_id: nullable(Joi.string()),
  occurred_at: times.required().description('Start of the trace'),
  detected_at: times.required(),
}).label('ContractViolation')

export const listViolations = endpoint('GET', '/agents/{agent_name}/violations', {
  summary: 'List in what an agent broke the contract of its manifest, newest first',
  description: `Of a trace at most ${MAX_ALIKE} of a kind and subject are kept, and ${MAX_OF_TRACE} in all: of those left out, \`observed\` of a kept one tells how many they are.`,
  access: 'key',
  params: agentPath,
  query: shape(
    {},
    {
      since: time().description('Traces started from then on; default 24 hours ago'),
      kind: oneOf(...KINDS),
      limit: int(1, 500).default(100),
      offset: count().default(0),
      project: projectField,
    },
  ),
  answers: {
    200: Joi.object({
      agent_name: Joi.string().required(),
      since: times.required(),
      total: Joi.number().integer().required().description(COUNTED),
      limit: Joi.number().integer().required(),
      offset: Joi.number().integer().required(),
      counts_by_kind: Joi.object()
        .pattern(Joi.string(), Joi.number().integer())
        .required()
        .description(`Of every kind, whatever kind is asked for. ${COUNTED}`),
      violations: listOf(violationBody).required(),
    }).label('ContractViolationList'),
    404: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const { limit, offset, kind } = query
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const since = query.since ?? new Date(context.now().getTime() - DAY_MS)
    const filter = { ...agent, since, kind }
    const [violations, counts_by_kind] = await Promise.all([
      contractViolations.listViolations(context.sql, filter, limit, offset),
      contractViolations.countViolations(context.sql, filter, COUNT_LIMIT),
    ])
    const all = Object.values(counts_by_kind).reduce((sum, n) => sum + n, 0)
    const total = kind === undefined ? all : (counts_by_kind[kind] ?? 0)
    const { agentName: agent_name } = agent
    return { agent_name, since, total, limit, offset, counts_by_kind, violations }
  },
})
