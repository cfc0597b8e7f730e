import { bisectRegression } from '../../jobs/bisect-regression.ts'
import { shape } from '../../jobs/shape.ts'
import { agentPath, findAgent } from '../manifests/agent.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField, projectQuery, waitHeaders } from '../fields.ts'
import { admitJob } from '../admit-job.ts'
import { answerLongWork } from '../wait.ts'
import { bisectBody, metricField, viewBisect, viewFields } from './bisect.ts'

export const runBisect = endpoint('POST', '/agents/{agent_name}/bisect', {
  summary: 'Look for the version from which on a metric was worse',
  description:
    'Long work: 200 with the view, or 202. From then on the metric is looked at whenever its newest version reaches 30, 60, 120, 240 and 480 traces. Asking more often finds nothing else.',
  access: 'key',
  params: agentPath,
  query: projectQuery,
  body: shape({}, { metric: metricField, project: projectField, ...viewFields })
    .label('BisectRequest')
    .example({ metric: 'helpfulness' }),
  headers: waitHeaders,
  answers: { 200: bisectBody, 202: bisectBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query, body } = call
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const metric = body.metric
    const path = `/agents/${encodeURIComponent(agent.agentName)}/bisect`
    const jobId = await admitJob(
      context,
      context.sql,
      principal,
      bisectRegression,
      { project_id: agent.projectId, agent_name: agent.agentName, metric },
      {
        projectId: agent.projectId,
        resultRef: `${path}?metric=${encodeURIComponent(metric)}&project=${agent.projectId}`,
      },
    )
    return answerLongWork(call, jobId, 200, () => viewBisect(context.sql, agent, metric, body))
  },
})
