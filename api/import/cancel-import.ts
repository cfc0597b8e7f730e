import { forgetUpload } from '../../sql/imports.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { cancelJob } from '../jobs/cancel-job.ts'
import { findVisibleImport, importBody, importPath, showImport } from './show-import.ts'

export const cancelImport = endpoint('POST', '/import/{import_id}/cancel', {
  area: 'import',
  summary: 'Cancel an import',
  description: 'What has been imported stays; importing the file again goes on from there.',
  access: 'key',
  params: importPath,
  answers: { 200: importBody, 202: importBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const { id, job_id } = await findVisibleImport(context, principal, params.import_id)
    const answer = await cancelJob(context, principal, job_id)
    const item = await findVisibleImport(context, principal, id)
    // One that never ran leaves nobody else who would delete its upload.
    if (item.state === 'cancelled' && item.storage_key !== null) {
      await context.storage.delete(item.storage_key)
      await forgetUpload(context.sql, item.org_id, id)
    }
    return new Answer(answer.status, showImport(item), answer.headers)
  },
})
