import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as workspaces from '../../sql/org/workspaces.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { projectBody } from './project.ts'

export const listProjects = endpoint('GET', '/projects', {
  summary: 'List the projects the caller may see, newest first',
  access: 'key',
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ projects: listOf(projectBody).required(), ...listMembers }).label(
      'ProjectList',
    ),
  },
  async handle({ context: { sql }, principal, query: { limit, offset, cursor } }) {
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      workspaces.listProjects(sql, principal.orgId, principal, page),
      workspaces.countProjects(sql, principal.orgId, principal, COUNT_LIMIT + 1),
    ])
    return listAnswer('projects', { limit, offset }, rows, counted, (row) => row, ageKey)
  },
})
