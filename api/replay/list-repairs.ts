import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as batches from '../../sql/manifests/repair-batches.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, listMembers, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { repairBatchBody, viewRepairBatch } from './repair.ts'

export const listRepairs = endpoint('GET', '/repair', {
  summary: 'List repairs, newest first',
  access: 'key',
  query: shape({}, { project: projectField, ...cursorQuery }),
  answers: {
    200: Joi.object({ batches: listOf(repairBatchBody).required(), ...listMembers }).label(
      'RepairBatchList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query: { project, limit, cursor } }) {
    const { orgId } = principal
    const projectIds = await readableProjects(sql, principal, project)
    const page = { limit: limit + 1, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      batches.listRepairBatches(sql, orgId, projectIds, page),
      batches.countRepairBatches(sql, orgId, projectIds, COUNT_LIMIT + 1),
    ])
    return listAnswer('batches', { limit, offset: 0 }, rows, counted, viewRepairBatch, ageKey)
  },
})
