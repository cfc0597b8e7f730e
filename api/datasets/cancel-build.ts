import { answerCancel } from '../jobs/cancellation.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { findVisibleVersion, versionBody, versionPath, viewVersion } from './version.ts'

export const cancelBuild = endpoint('POST', '/datasets/{dataset_id}/versions/{version}/cancel', {
  summary: 'Cancel the build of a version',
  description:
    'A build that waits is canceled at once (200), one that runs at its next safe point (202). The version stays, without rows. One that is ready, or came from a backup, is a conflict.',
  access: 'key',
  params: versionPath,
  answers: { 200: versionBody, 202: versionBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const { id, version_number, ready_at, job_id } = await findVisibleVersion(
      context,
      principal,
      params,
    )
    // The job of a restored version is the restore, which may still go on.
    if (ready_at !== null) throw conflict(`Version v${version_number} is ready already`)
    const { status, headers } = await answerCancel(context, principal, job_id)
    const version = await findVisibleVersion(context, principal, { ...params, version: id })
    return new Answer(status, await viewVersion(context, principal.orgId, version), headers)
  },
})
