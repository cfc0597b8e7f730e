import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { countImports, listImports } from '../../sql/imports.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { importBody, showImport } from './show-import.ts'

export const listImportsOperation = endpoint('GET', '/import', {
  area: 'import',
  summary: 'List imports, newest first',
  access: 'key',
  query: shape({}, { project: projectField, ...pageQuery }),
  answers: {
    200: Joi.object({ imports: listOf(importBody).required(), ...listMembers }).label('ImportList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit = 50, offset = 0, cursor } = query
    const filter = { projectIds: await readableProjects(sql, principal, query.project) }
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      listImports(sql, principal.orgId, filter, page),
      countImports(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('imports', { limit, offset, cursor }, rows, counted, showImport, (row) => [
      row.created_at,
      row.id,
    ])
  },
})
