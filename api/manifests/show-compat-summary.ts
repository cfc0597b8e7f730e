import Joi from 'joi'
import { impactByName } from '../../jobs/rules/manifests/compat-tally.ts'
import { bool, shape } from '../../jobs/shape.ts'
import type { CompatReportRow } from '../../sql/manifests/compat-reports.ts'
import { versionLabel } from '../../sql/manifests/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { agentPath, findAgent } from './agent.ts'
import { componentImpactBody, readReport, statusOf } from './report.ts'
import { findAnalysis, findTransition } from './transition.ts'
import type { Transition } from './transition.ts'

const count = Joi.number().integer()

const summaryBody = Joi.object({
  status: Joi.string().valid('ok', 'no_transition', 'computing', 'failed').required(),
  message: nullable(Joi.string()),
  old_version: nullable(Joi.string()),
  new_version: nullable(Joi.string()),
  total_traces: count.required(),
  keep: count.required(),
  repair: count.required(),
  replay: count.required(),
  drop: count.required(),
  component_impact: componentImpactBody.required(),
  report_id: Joi.string().guid(),
  job_id: Joi.string().guid(),
}).label('CompatSummary')

export const showCompatSummary = endpoint('GET', '/agents/{agent_name}/compat-summary', {
  summary: "What became of the traces of an agent's version before the latest change",
  description: 'Waits for the analysis as long as preferred: 202 while it runs.',
  access: 'key',
  aggregates: true,
  params: agentPath,
  query: shape(
    {},
    { recompute: bool().description('Analyse anew, up to now'), project: projectField },
  ),
  headers: waitHeaders,
  answers: { 200: summaryBody, 202: summaryBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query } = call
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const transition = await findTransition(context, agent)
    if (!transition) return { ...EMPTY, status: 'no_transition', message: NO_TRANSITION }
    const { id, job_id } = await findAnalysis(context, principal, transition, query.recompute)
    return answerLongWork(call, job_id, 200, async () => {
      const report = await readReport(context.sql, principal.orgId, id)
      return viewSummary(report, transition)
    })
  },
})

function viewSummary(report: CompatReportRow, { before, after }: Transition) {
  const { tally } = report
  const facts = {
    ...EMPTY,
    old_version: versionLabel(before),
    new_version: versionLabel(after),
    report_id: report.id,
  }
  if (!tally) {
    const status = statusOf(report) === 'failed' ? 'failed' : 'computing'
    return { ...facts, status, message: status === 'failed' ? 'The analysis has failed' : null }
  }
  const { total_episodes: total_traces, keep, repair, replay, drop } = tally
  const message = total_traces === 0 ? 'No trace of the old version in the window' : null
  const component_impact = impactByName(tally)
  return {
    ...facts,
    status: 'ok',
    message,
    total_traces,
    keep,
    repair,
    replay,
    drop,
    component_impact,
  }
}

const EMPTY = {
  message: null,
  old_version: null,
  new_version: null,
  total_traces: 0,
  keep: 0,
  repair: 0,
  replay: 0,
  drop: 0,
  component_impact: {},
}
const NO_TRANSITION = 'The agent has had one manifest at most: nothing has changed'
