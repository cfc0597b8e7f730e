import Joi from 'joi'
import { decideTraces } from '../../jobs/decide-traces.ts'
import { traceBatches } from '../../jobs/trace-batches.ts'
import { listOf, shape, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import { findManifest } from '../../sql/manifests/manifests.ts'
import { listManifestProjects } from '../../sql/traces/trace-lists.ts'
import { listTraceProjects } from '../../sql/traces/traces.ts'
import { listVerdicts } from '../../sql/evals/verdicts.ts'
import type { StoredVerdict } from '../../sql/evals/verdicts.ts'
import { judgeTraces } from '../../sql/transactions/judge-traces.ts'
import type { ApiContext } from '../context.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest, notFound } from '../errors.ts'
import { errorBody, projectField, projectQuery, waitHeaders } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'
import { admitJob } from '../admit-job.ts'
import { answerLongWork } from '../wait.ts'
import { decisionBody, viewDecision } from './decision.ts'

const batchBody = Joi.object({
  decisions: listOf(decisionBody).required().description('Empty for a manifest'),
  total: Joi.number().integer().required().description('Traces decided on'),
  verdict_counts: Joi.object().pattern(Joi.string(), Joi.number().integer()).required(),
  errors: listOf(
    Joi.object({
      trace_id: Joi.string().required(),
      code: Joi.string().valid('not_found', 'ambiguous', 'running', 'unreadable').required(),
      message: Joi.string().required(),
    }).label('DecisionError'),
  ).description('Traces that are unknown, still running or damaged'),
  job_id: Joi.string().guid().description('Of a manifest'),
}).label('DecisionBatch')

export const decideBatch = endpoint('POST', '/traces/batch-decision', {
  summary: 'Decide on up to 1,000 traces now, or on every trace of a manifest as a job',
  access: 'key',
  query: projectQuery,
  body: shape(
    {},
    {
      trace_ids: listOf(textReference()).min(1).max(1000),
      manifest_id: uuidReference(),
      project: projectField,
    },
  )
    .xor('trace_ids', 'manifest_id')
    .label('BatchDecisionRequest')
    .example({ trace_ids: ['order-42', 'order-43'] }),
  headers: waitHeaders,
  answers: { 200: batchBody, 202: batchBody, 404: errorBody },
  async handle(call) {
    const { context, principal, body, query } = call
    const visible = await readableProjects(context.sql, principal, query.project)
    const { trace_ids, manifest_id: manifestId } = body
    if (manifestId === undefined) {
      return decideNow(context, principal, visible, [...new Set(trace_ids)])
    }
    const projectId = await findDecidedProject(context, principal, visible, manifestId)
    if (projectId === undefined) return { decisions: [], total: 0, verdict_counts: {} }
    const jobId = await submitManifest(context, principal, projectId, manifestId)
    return answerLongWork(call, jobId, 200, async () => {
      const job = await findJob(context.sql, principal.orgId, jobId)
      return { decisions: [], total: 0, verdict_counts: {}, ...job?.result }
    })
  },
})

async function decideNow(
  context: ApiContext,
  { orgId }: Principal,
  visible: readonly string[] | null,
  traceIds: readonly string[],
) {
  const projectsOf = await listTraceProjects(context.sql, orgId, visible, traceIds)
  const found = traceIds.map((id) => ({ id, projects: projectsOf.get(id) ?? [] }))
  const unique = found.flatMap(({ id, projects: [project, ...others] }) =>
    project !== undefined && others.length === 0 ? [{ id, project }] : [],
  )
  const byProject = Map.groupBy(unique, ({ project }) => project)
  const decided = new Map<string, StoredVerdict>()
  const unreadable = new Set<string>()
  for (const [projectId, group] of byProject) {
    const ids = group.map(({ id }) => id)
    for (const page of traceBatches(ids)) {
      const result = await decidePage(context, orgId, projectId, page)
      for (const verdict of result.verdicts) decided.set(verdict.trace_id, verdict)
      for (const { trace_id } of result.unreadable) unreadable.add(trace_id)
    }
  }
  const decisions = traceIds.flatMap((id) => decided.get(id) ?? []).map(viewDecision)
  const verdict_counts: Record<string, number> = {}
  for (const { verdict } of decisions) verdict_counts[verdict] = (verdict_counts[verdict] ?? 0) + 1
  const errors = found.flatMap((each) => (decided.has(each.id) ? [] : [refusal(each, unreadable)]))
  return { decisions, total: decisions.length, verdict_counts, errors }
}

async function decidePage(
  context: ApiContext,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    const { judged, unreadable } = await judgeTraces(tx, context.queue, orgId, projectId, traceIds)
    return { verdicts: await listVerdicts(tx, orgId, projectId, judged), unreadable }
  })
}

function refusal(
  { id, projects }: { id: string; projects: readonly string[] },
  unreadable: ReadonlySet<string>,
) {
  if (projects.length === 0) return { trace_id: id, code: 'not_found', message: 'Trace not found' }
  if (unreadable.has(id)) {
    return { trace_id: id, code: 'unreadable', message: 'The content of the trace is damaged' }
  }
  if (projects.length === 1) {
    return { trace_id: id, code: 'running', message: 'The trace is still running' }
  }
  const message = 'Several projects have a trace of this id: name one as `project`'
  return { trace_id: id, code: 'ambiguous', message }
}

/** The project of a manifest's traces; undefined where a manifest has none. */
async function findDecidedProject(
  { sql }: ApiContext,
  { orgId }: Principal,
  visible: readonly string[] | null,
  manifestId: string,
) {
  const [projectId, other] = await listManifestProjects(sql, orgId, visible, manifestId)
  if (other !== undefined) {
    throw badRequest('Several projects have traces of this manifest: name one as `project`')
  }
  if (projectId !== undefined) return projectId
  const manifest = await findManifest(sql, orgId, manifestId)
  if (!manifest || !maySee(visible, manifest.project_id)) throw notFound('Manifest')
  return undefined
}

async function submitManifest(
  context: ApiContext,
  principal: Principal,
  projectId: string,
  manifestId: string,
) {
  const payload = { project_id: projectId, manifest_id: manifestId }
  return admitJob(context, context.sql, principal, decideTraces, payload, { projectId })
}
