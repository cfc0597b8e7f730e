import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import { pipeline } from 'node:stream'
import type { Readable } from 'node:stream'
import { createInflate } from 'node:zlib'
import { encodingOf } from '../body-bytes.ts'
import { endpoint } from '../endpoint.ts'
import { ApiError, badRequest } from '../errors.ts'
import { errorBody, waitHeaders } from '../fields.ts'
import { headerOf } from '../header.ts'
import { importBody } from './import.ts'
import { importQuery, receiveImport } from './upload.ts'

const TYPES = [
  'application/x-ndjson',
  'application/jsonl',
  'application/json',
  'application/gzip',
  'application/x-tar',
  'application/vnd.apache.parquet',
  'application/x-protobuf',
  'multipart/form-data',
  'text/csv',
  'application/octet-stream',
  'text/plain',
]
const MAX_UPLOAD_BYTES = 5 * 2 ** 30

export const importJsonl = endpoint('POST', '/import/jsonl', {
  summary: 'Import traces from a file: our own lines, or the export of another platform',
  description: [
    'Each record is taken for what it looks like, unless `source` names the one format to expect: `traces` as `POST /traces` takes them, with inline `scores`; `openai_chat` lines (`messages`, `tools`; `?agent_name=` says whose they are) and preference rows (`input`, `preferred_output`, `non_preferred_output`: two traces of one task, each with a score `preference`); trials of `tau_bench` result files; traces, spans and scores of `langfuse`, `langsmith`, `phoenix`, `opik` and `otlp` (OpenTelemetry), and trajectories in `atif`. Spans of one trace may be anywhere in the file.',
    'The file is JSON Lines, a JSON array, or JSON objects: records, or pages and requests that hold a list of them (`traces`, `runs`, `data`, `batch`, `spans`, `resourceSpans`). It may also be Parquet, one OpenTelemetry request in protobuf (up to 64 MiB), the multipart body of a LangSmith client, CSV with `source=langfuse`, or a tar archive of such files, and each of them gzip. Its first bytes tell which, not its Content-Type. Entries of an archive that hold no records are counted in `losses` as `entries_skipped`; an error names the entry that it is in. An archive with an entry that cannot be read to its end is read on, and ends as `failed`.',
    'A trace whose id the project has is skipped, so importing again is safe at any time; scores that a platform has added since come to it. What an export has of one trace in several files, such as traces in one and their spans in another, belongs in one upload: a tar archive, or JSON Lines one after the other. A bad record costs only itself: read it under `/import/{import_id}/errors`, by its 1-based line, or by its 1-based number where records are not one a line. A file that breaks off, such as gzip that was cut short, ends as `failed`, and what came before stays imported. What records tell and traces have no place for is counted in `losses`, and said in the `metadata.import.warnings` of the trace.',
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
  headers: waitHeaders,
  answers: { 200: importBody, 202: importBody, 413: errorBody },
  async handle(call) {
    checkType(call.request)
    const announced = headerOf(call.request, 'content-length')
    if (encodingOf(call.request.raw.req) === 'deflate')
      return receiveImport(call, readUpload(inflated(call.body)))
    return receiveImport(call, readUpload(call.body), announced ? Number(announced) : undefined)
  },
})

/** A body that is compressed in transfer may have any type: its first bytes show that it is gzip. */
function checkType(request: Request) {
  const encoding = encodingOf(request.raw.req)
  if (['gzip', 'x-gzip', 'deflate'].includes(encoding)) return
  if (encoding !== 'identity') throw badRequest('Content-Encoding must be gzip or deflate')
  if (!TYPES.includes(request.mime ?? '')) {
    throw badRequest(`Content-Type must be one of ${TYPES.join(', ')}`)
  }
}

/** What is sent with gzip is stored so; deflate is no format of a file. */
function inflated(body: Readable) {
  return pipeline(body, createInflate(), () => undefined)
}

async function* readUpload(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw error instanceof ApiError ? error : badRequest('The upload ended early')
  }
}
