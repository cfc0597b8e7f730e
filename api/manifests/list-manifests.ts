import Joi from 'joi'
import { listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import { countManifests, listManifests } from '../../sql/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { listedManifestBody, MANIFEST_STATUSES, showManifest } from './manifest-fields.ts'

export const listManifestsOperation = endpoint('GET', '/manifests', {
  area: 'manifests',
  summary: 'List manifests, newest version first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: text(),
      status: oneOf(...MANIFEST_STATUSES),
      project: projectField,
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({ manifests: listOf(listedManifestBody).required(), ...listMembers }).label(
      'ManifestList',
    ),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit = 50, offset = 0 } = query
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      agentName: query.agent_name,
      status: query.status,
    }
    const page = { limit: limit + 1, offset, before: decodeCursor(query.cursor) }
    const [rows, counted] = await Promise.all([
      listManifests(sql, principal.orgId, filter, page),
      countManifests(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer(
      'manifests',
      { limit, offset },
      rows,
      counted,
      (row) => ({ ...showManifest(row), traces_count: row.traces_count }),
      (row) => [row.created_at, row.id],
    )
  },
})
