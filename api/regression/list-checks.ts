import Joi from 'joi'
import { CHECK_VERDICTS } from '../../jobs/rules/check-findings.ts'
import { listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import { countChecks, listChecks } from '../../sql/regression-checks.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { checkBody } from './check-fields.ts'
import { showCheck } from './show-check.ts'

export const listChecksOperation = endpoint('GET', '/regression-check', {
  area: 'regression',
  summary: 'List regression checks, newest first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: text(),
      verdict: oneOf(...CHECK_VERDICTS),
      project: projectField,
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({
      regression_checks: listOf(checkBody).required(),
      ...listMembers,
    }).label('RegressionCheckList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit = 50, offset = 0, cursor } = query
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      agentName: query.agent_name,
      verdict: query.verdict,
    }
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      listChecks(sql, principal.orgId, filter, page),
      countChecks(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer(
      'regression_checks',
      { limit, offset, cursor },
      rows,
      counted,
      showCheck,
      (row) => [row.created_at, row.id],
    )
  },
})
