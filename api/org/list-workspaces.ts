import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { countWorkspaces, listWorkspaces } from '../../sql/workspaces.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { workspaceBody } from './create-workspace.ts'

export const listWorkspacesOperation = endpoint('GET', '/workspaces', {
  area: 'org',
  summary: 'List the workspaces the caller may see, newest first',
  access: 'key',
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ workspaces: listOf(workspaceBody).required(), ...listMembers }).label(
      'WorkspaceList',
    ),
  },
  async handle({ context: { sql }, principal, query: { limit = 50, offset = 0, cursor } }) {
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      listWorkspaces(sql, principal.orgId, principal, page),
      countWorkspaces(sql, principal.orgId, principal, COUNT_LIMIT + 1),
    ])
    return listAnswer(
      'workspaces',
      { limit, offset },
      rows,
      counted,
      (row) => row,
      (row) => [row.created_at, row.id],
    )
  },
})
