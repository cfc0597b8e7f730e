import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleImport, importBody, importPath, viewImport } from './import.ts'

export const showImport = endpoint('GET', '/import/{import_id}', {
  summary: 'Read an import',
  access: 'key',
  params: importPath,
  answers: { 200: importBody, 404: errorBody },
  handle: async ({ context, principal, params }) =>
    viewImport(await findVisibleImport(context, principal, params.import_id)),
})
