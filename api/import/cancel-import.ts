import { forgetUpload } from '../../sql/import/imports.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { answerCancel } from '../jobs/cancellation.ts'
import { findVisibleImport, importBody, importPath, viewImport } from './import.ts'

export const cancelImport = endpoint('POST', '/import/{import_id}/cancel', {
  summary: 'Cancel an import',
  description: 'What has been imported stays; importing the file again goes on from there.',
  access: 'key',
  params: importPath,
  answers: { 200: importBody, 202: importBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const { id, job_id } = await findVisibleImport(context, principal, params.import_id)
    const answer = await answerCancel(context, principal, job_id)
    const item = await findVisibleImport(context, principal, id)
    // No job deletes the upload of an import that never ran.
    if (item.state === 'canceled' && item.storage_key !== null) {
      await forgetUpload(context.sql, item.org_id, id)
      // What cannot be deleted now is swept.
      await context.storage.delete(item.storage_key).catch(() => undefined)
    }
    return new Answer(answer.status, viewImport(item), answer.headers)
  },
})
