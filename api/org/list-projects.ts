import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { countProjects, listProjects } from '../../sql/workspaces.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { projectBody } from './create-project.ts'

export const listProjectsOperation = endpoint('GET', '/projects', {
  area: 'org',
  summary: 'List the projects the caller may see, newest first',
  access: 'key',
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ projects: listOf(projectBody).required(), ...listMembers }).label(
      'ProjectList',
    ),
  },
  async handle({ context: { sql }, principal, query: { limit = 50, offset = 0, cursor } }) {
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      listProjects(sql, principal.orgId, principal, page),
      countProjects(sql, principal.orgId, principal, COUNT_LIMIT + 1),
    ])
    return listAnswer(
      'projects',
      { limit, offset },
      rows,
      counted,
      (row) => row,
      (row) => [row.created_at, row.id],
    )
  },
})
