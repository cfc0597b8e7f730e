import Joi from 'joi'
import { listOf, oneOf, shape, textReference } from '../../jobs/shape.ts'
import * as manifests from '../../sql/manifests/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { listedManifestBody, MANIFEST_STATUSES, viewManifest } from './manifest.ts'

export const listManifests = endpoint('GET', '/manifests', {
  summary: 'List manifests, newest version first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: textReference(),
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
    const { limit, offset } = query
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      agentName: query.agent_name,
      status: query.status,
    }
    const page = { limit: limit + 1, offset, before: decodeCursor(query.cursor) }
    const [rows, counted] = await Promise.all([
      manifests.listManifests(sql, principal.orgId, filter, page),
      manifests.countManifests(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer(
      'manifests',
      { limit, offset },
      rows,
      counted,
      (row) => ({ ...viewManifest(row), traces_count: row.traces_count }),
      ageKey,
    )
  },
})
