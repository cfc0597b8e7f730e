import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as imports from '../../sql/import/imports.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { importBody, viewImport } from './import.ts'

export const listImports = endpoint('GET', '/import', {
  summary: 'List imports, newest first',
  access: 'key',
  query: shape({}, { project: projectField, ...pageQuery }),
  answers: {
    200: Joi.object({ imports: listOf(importBody).required(), ...listMembers }).label('ImportList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit, offset, cursor } = query
    const projectIds = await readableProjects(sql, principal, query.project)
    const filter = { projectIds, keyId: query.project === undefined ? principal.keyId : undefined }
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      imports.listImports(sql, principal.orgId, filter, page),
      imports.countImports(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('imports', { limit, offset }, rows, counted, viewImport, ageKey)
  },
})
