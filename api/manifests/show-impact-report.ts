import Joi from 'joi'
import { impactOf } from '../../jobs/rules/manifests/impact.ts'
import { diffManifests } from '../../jobs/rules/manifests/manifest-diff.ts'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import type { CompatReportRow } from '../../sql/manifests/compat-reports.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { agentPath, findAgent } from './agent.ts'
import { findManifestPair } from './manifest.ts'
import { readReport, statusOf, verdictCountsBody } from './report.ts'
import { changedSurfaceBody, viewChange } from './surface-change.ts'
import { findAnalysis, findTransition } from './transition.ts'

const impactBody = Joi.object({
  status: Joi.string().valid('ok', 'no_transition', 'computing', 'failed').required(),
  agent_name: Joi.string().required(),
  old_manifest_id: nullable(Joi.string().guid()),
  new_manifest_id: nullable(Joi.string().guid()),
  surface_changes: listOf(changedSurfaceBody).required(),
  affected_trace_count: nullable(Joi.number().integer()),
  compat_summary: nullable(verdictCountsBody),
  severity: nullable(Joi.string().valid('high', 'medium', 'low')),
  severity_reason: nullable(Joi.string()),
  human_summary: nullable(Joi.string()),
  report_id: Joi.string().guid(),
  job_id: Joi.string().guid(),
}).label('ManifestImpactReport')

export const showImpactReport = endpoint('GET', '/agents/{agent_name}/impact-report', {
  summary: 'What a change of an agent does to its recorded traffic',
  description:
    'Of the latest change unless manifests are named. Where it has not been analysed yet that is started, and waited for as long as preferred: 202 while it runs.',
  access: 'key',
  aggregates: true,
  params: agentPath,
  query: shape(
    {},
    { manifest_id: uuidReference(), baseline_manifest_id: uuidReference(), project: projectField },
  ),
  headers: waitHeaders,
  answers: { 200: impactBody, 202: impactBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query } = call
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const { manifest_id, baseline_manifest_id } = query
    const transition = await findTransition(context, agent, manifest_id, baseline_manifest_id)
    if (!transition) return { ...NOTHING, agent_name: agent.agentName }
    const { before, after } = await findManifestPair(context, principal, transition)
    const changes = diffManifests(before, after)
    const { id, job_id } = await findAnalysis(context, principal, transition)
    return answerLongWork(call, job_id, 200, async () => {
      const report = await readReport(context.sql, principal.orgId, id)
      const facts = {
        agent_name: agent.agentName,
        old_manifest_id: before.id,
        new_manifest_id: after.id,
      }
      const surface_changes = changes.map(viewChange)
      return { ...facts, report_id: id, ...viewFindings(report, changes), surface_changes }
    })
  },
})

function viewFindings(report: CompatReportRow, changes: Parameters<typeof impactOf>[0]) {
  const { tally } = report
  if (!tally) {
    const status = statusOf(report) === 'failed' ? 'failed' : 'computing'
    const { agent_name: _, old_manifest_id: __, new_manifest_id: ___, ...nothing } = NOTHING
    return { ...nothing, human_summary: null, status }
  }
  const { keep, repair, replay, drop, affected_trace_count } = tally
  return {
    status: 'ok',
    affected_trace_count,
    compat_summary: { keep, repair, replay, drop },
    ...impactOf(changes, tally),
  }
}

const NOTHING = {
  status: 'no_transition',
  agent_name: '',
  old_manifest_id: null,
  new_manifest_id: null,
  surface_changes: [],
  affected_trace_count: null,
  compat_summary: null,
  severity: null,
  severity_reason: null,
  human_summary: 'The agent has had one manifest at most: nothing has changed.',
}
