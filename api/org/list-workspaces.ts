import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as workspaces from '../../sql/org/workspaces.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { workspaceBody } from './workspace.ts'

export const listWorkspaces = endpoint('GET', '/workspaces', {
  summary: 'List the workspaces the caller may see, newest first',
  access: 'key',
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ workspaces: listOf(workspaceBody).required(), ...listMembers }).label(
      'WorkspaceList',
    ),
  },
  async handle({ context: { sql }, principal, query: { limit, offset, cursor } }) {
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      workspaces.listWorkspaces(sql, principal.orgId, principal, page),
      workspaces.countWorkspaces(sql, principal.orgId, principal, COUNT_LIMIT + 1),
    ])
    return listAnswer('workspaces', { limit, offset }, rows, counted, (row) => row, ageKey)
  },
})
