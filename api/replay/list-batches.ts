import Joi from 'joi'
import { listOf, oneOf, shape, textReference } from '../../jobs/shape.ts'
import * as batches from '../../sql/replay/replay-batches.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { batchBody, viewBatch } from './batch.ts'

export const listReplayBatches = endpoint('GET', '/replay/batches', {
  summary: 'List replay batches, newest first',
  access: 'key',
  query: shape(
    {},
    {
      project: projectField,
      agent_name: textReference(),
      status: oneOf(...batches.BATCH_STATUSES),
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({ batches: listOf(batchBody).required(), ...listMembers }).label(
      'ReplayBatchList',
    ),
  },
  async handle({ context: { sql }, principal: { orgId }, principal, query }) {
    const { limit, offset, cursor } = query
    const projectIds = await readableProjects(sql, principal, query.project)
    const filter = { projectIds, agentName: query.agent_name, status: query.status }
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      batches.listBatches(sql, orgId, filter, page),
      batches.countBatches(sql, orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('batches', { limit, offset }, rows, counted, viewBatch, ageKey)
  },
})
