import Joi from 'joi'
import { CHECK_VERDICTS } from '../../jobs/rules/regression/check-findings.ts'
import { listOf, oneOf, shape, textReference } from '../../jobs/shape.ts'
import * as checks from '../../sql/regression/checks.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { checkBody } from './check-body.ts'
import { viewCheck } from './check.ts'

export const listChecks = endpoint('GET', '/regression-check', {
  summary: 'List regression checks, newest first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: textReference(),
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
    const { limit, offset, cursor } = query
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      agentName: query.agent_name,
      verdict: query.verdict,
    }
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      checks.listChecks(sql, principal.orgId, filter, page),
      checks.countChecks(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('regression_checks', { limit, offset }, rows, counted, viewCheck, ageKey)
  },
})
