import { findRedactionSettings } from '../../sql/datasets/redaction-settings.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectQuery } from '../fields.ts'
import { readableProject } from '../projects.ts'
import { redactionSettingsBody } from './redaction-settings.ts'

export const showRedaction = endpoint('GET', '/redaction-settings', {
  summary: 'Read what a project has redacted besides the classes of values',
  access: 'key',
  query: projectQuery,
  answers: { 200: redactionSettingsBody, 404: errorBody },
  async handle({ context: { sql }, principal, query }) {
    const projectId = await readableProject(sql, principal, query.project)
    return findRedactionSettings(sql, principal.orgId, projectId)
  },
})
