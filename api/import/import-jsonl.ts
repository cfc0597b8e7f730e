import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import type { Readable } from 'node:stream'
import { endpoint } from '../endpoint.ts'
import { ApiError, badRequest } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { headerOf } from '../header.ts'
import { importBody } from './import.ts'
import { importQuery, receiveImport } from './upload.ts'

const TYPES = [
  'application/x-ndjson',
  'application/jsonl',
  'application/json',
  'application/gzip',
  'application/octet-stream',
  'text/plain',
]
const MAX_UPLOAD_BYTES = 5 * 2 ** 30

export const importJsonl = endpoint('POST', '/import/jsonl', {
  summary: 'Import traces from a file of JSON Lines or JSON, plain or gzip',
  description: [
    'The file is JSON Lines, one JSON array, or one JSON object (a record, or `{traces: [...]}`); its records are traces as `POST /traces` takes them, with inline `scores`, OpenAI chat lines (`messages`, `tools`; `?agent_name=` says whose they are), preference rows (`input`, `preferred_output`, `non_preferred_output`: two traces of one task, each with a score `preference`), or trials of tau-bench result files.',
    'A trace whose id the project has is skipped, so importing again is safe at any time. A bad record costs only itself: read it under `/import/{import_id}/errors`, by its 1-based line, or in an array by its 1-based number. A file that breaks off, such as gzip that was cut short, ends as `failed`, and what came before stays imported. What records tell and traces have no place for is counted in `losses`, and said in the `metadata.import.warnings` of the trace.',
    'Up to 5 GiB as sent and 20 GiB inflated; a record up to 16 MiB and 64 levels deep. Uploads whose imports have not ended may together take what the plan allows (1 GiB, 10, 50 or 500 unless the operator set it otherwise): 429 `too_many_uploads` until some have ended.',
  ].join('\n\n'),
  access: 'key',
  query: importQuery,
  body: {
    stream: true,
    documented: Joi.binary().label('ImportFile'),
    maxBytes: MAX_UPLOAD_BYTES,
    types: TYPES,
  },
  answers: { 200: importBody, 202: importBody, 413: errorBody },
  async handle(call) {
    checkType(call.request)
    const announced = headerOf(call.request, 'content-length')
    return receiveImport(call, readUpload(call.body), announced ? Number(announced) : undefined)
  },
})

/** A body that is compressed in transfer may have any type: its first bytes show that it is gzip. */
function checkType(request: Request) {
  const encoding = headerOf(request, 'content-encoding')
  if (encoding === 'gzip') return
  if (encoding !== undefined && encoding !== 'identity') {
    throw badRequest('Content-Encoding must be gzip or absent')
  }
  if (!TYPES.includes(request.mime ?? '')) {
    throw badRequest(`Content-Type must be one of ${TYPES.join(', ')}`)
  }
}

async function* readUpload(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw error instanceof ApiError ? error : badRequest('The upload ended early')
  }
}
