import Joi from 'joi'
import { impactOf } from '../../jobs/rules/impact.ts'
import { diffManifests } from '../../jobs/rules/manifest-diff.ts'
import { listOf, shape, uuid } from '../../jobs/shape.ts'
import { findReport } from '../../sql/compat-reports.ts'
import type { CompatReportRow } from '../../sql/compat-reports.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField } from '../fields.ts'
import { readStoredManifest } from '../manifests/find-manifest.ts'
import { changedSurfaceBody } from '../manifests/manifest-fields.ts'
import { statusOf, verdictCountsBody } from '../manifests/report-fields.ts'
import { answerLongWork } from '../wait.ts'
import { agentPath } from './agent-fields.ts'
import { findAgent } from './find-agent.ts'
import { findAnalysis } from './find-analysis.ts'
import { findTransition } from './find-transition.ts'

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
  area: 'agents',
  summary: 'What a change of an agent does to its recorded traffic',
  description:
    'Of the latest change unless manifests are named. Where it has not been analysed yet that is started, and waited for as long as preferred: 202 while it runs.',
  access: 'key',
  params: agentPath,
  query: shape({}, { manifest_id: uuid(), baseline_manifest_id: uuid(), project: projectField }),
  answers: { 200: impactBody, 202: impactBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query } = call
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const { manifest_id, baseline_manifest_id } = query
    const transition = await findTransition(context, agent, manifest_id, baseline_manifest_id)
    if (!transition) return { ...NOTHING, agent_name: agent.agentName }
    const [before, after] = await Promise.all([
      readStoredManifest(context, principal, transition.before.id),
      readStoredManifest(context, principal, transition.after.id),
    ])
    const surface_changes = diffManifests(before, after)
    const { id, job_id } = await findAnalysis(context, principal, transition)
    return answerLongWork(call, job_id, 200, async () => {
      const report = (await findReport(context.sql, principal.orgId, id)) as CompatReportRow
      const facts = {
        agent_name: agent.agentName,
        old_manifest_id: before.id,
        new_manifest_id: after.id,
      }
      return { ...facts, surface_changes, report_id: id, ...showFindings(report, surface_changes) }
    })
  },
})

function showFindings(report: CompatReportRow, changes: Parameters<typeof impactOf>[0]) {
  const { tally } = report
  if (!tally) {
    const status = statusOf(report) === 'failed' ? 'failed' : 'computing'
    const { agent_name: _, old_manifest_id: __, new_manifest_id: ___, ...nothing } = NOTHING
    return { ...nothing, surface_changes: changes, human_summary: null, status }
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
  surface_changes: [] as ReturnType<typeof diffManifests>,
  affected_trace_count: null,
  compat_summary: null,
  severity: null,
  severity_reason: null,
  human_summary: 'The agent has had one manifest at most: nothing has changed.',
}
