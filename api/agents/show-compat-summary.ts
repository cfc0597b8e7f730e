import Joi from 'joi'
import { impactByName } from '../../jobs/rules/compat-tally.ts'
import { shape } from '../../jobs/shape.ts'
import { findReport } from '../../sql/compat-reports.ts'
import type { CompatReportRow } from '../../sql/compat-reports.ts'
import { versionLabel } from '../../sql/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField } from '../fields.ts'
import { componentImpactBody, statusOf } from '../manifests/report-fields.ts'
import { answerLongWork } from '../wait.ts'
import { agentPath } from './agent-fields.ts'
import { findAgent } from './find-agent.ts'
import { findAnalysis } from './find-analysis.ts'
import { findTransition } from './find-transition.ts'
import type { Transition } from './find-transition.ts'

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
  area: 'agents',
  summary: "What became of the traces of an agent's version before the latest change",
  description: 'Waits for the analysis as long as preferred: 202 while it runs.',
  access: 'key',
  params: agentPath,
  query: shape(
    {},
    { recompute: Joi.boolean().description('Analyse anew, up to now'), project: projectField },
  ),
  answers: { 200: summaryBody, 202: summaryBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query } = call
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const transition = await findTransition(context, agent)
    if (!transition) return { ...EMPTY, status: 'no_transition', message: NO_TRANSITION }
    const { id, job_id } = await findAnalysis(context, principal, transition, query.recompute)
    return answerLongWork(call, job_id, 200, async () => {
      const report = (await findReport(context.sql, principal.orgId, id)) as CompatReportRow
      return showSummary(report, transition)
    })
  },
})

function showSummary(report: CompatReportRow, { before, after }: Transition) {
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
  message: null as string | null,
  old_version: null as string | null,
  new_version: null as string | null,
  total_traces: 0,
  keep: 0,
  repair: 0,
  replay: 0,
  drop: 0,
  component_impact: {},
}
const NO_TRANSITION = 'The agent has had one manifest at most: nothing has changed'
