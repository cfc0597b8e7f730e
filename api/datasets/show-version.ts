import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleVersion, versionBody, versionPath, viewVersion } from './version.ts'

export const showVersion = endpoint('GET', '/datasets/{dataset_id}/versions/{version}', {
  summary: 'Read a version of a dataset',
  description: '`latest` is the newest version that is ready; while none is, the newest one.',
  access: 'key',
  params: versionPath,
  answers: { 200: versionBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const version = await findVisibleVersion(context, principal, params)
    return viewVersion(context, principal.orgId, version)
  },
})
