import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import { encodeStatus, encodeTraceResponse } from '../../jobs/rules/import/otlp/otlp-protobuf.ts'
import type { Unwritten, Written } from '../written-answer.ts'
import { mediaTypeOf } from '../read-body.ts'

export const JSON_TYPE = 'application/json'
export const PROTOBUF_TYPE = 'application/x-protobuf'

/** An answer of OTLP over HTTP: what became of the spans. */
export interface ExportAnswer {
  readonly partialSuccess: { readonly rejectedSpans?: number; readonly errorMessage?: string }
}

/** A `google.rpc.Status` in its JSON encoding, with the members of other errors beside its own. */
export const statusBody = Joi.object({
  code: Joi.number().integer().required().description('Of google.rpc.Code'),
  message: Joi.string().required().description('A sentence for people'),
  error: Joi.string().required().description('The word that other operations give as `code`'),
  request_id: Joi.string().required(),
  resets_in_seconds: Joi.number().integer(),
}).label('RpcStatus')

/** Writes an answer as OTLP has it, in the type of the request: JSON, or the same message as protobuf. */
export function writeExportAnswer(request: Request, { status, body }: Unwritten): Written {
  const isBinary = mediaTypeOf(request) === PROTOBUF_TYPE
  if (status < 400) {
    const { partialSuccess } = body as ExportAnswer
    const { rejectedSpans = 0, errorMessage = '' } = partialSuccess
    if (!isBinary) return { status, type: JSON_TYPE, content: body }
    const bytes = encodeTraceResponse({ rejectedSpans, errorMessage })
    return { status, type: PROTOBUF_TYPE, content: Buffer.from(bytes) }
  }
  const { detail, code: error, request_id, resets_in_seconds } = body as ErrorBody
  const message = typeof detail === 'string' ? detail : (detail?.message ?? error)
  // What cannot be read is a bad request to OTLP, at whichever member it was found.
  const sent = status === 422 ? 400 : status
  const code = RPC_CODES[sent] ?? (sent < 500 ? INVALID_ARGUMENT : INTERNAL)
  if (isBinary) {
    const bytes = encodeStatus({ code, message })
    return { status: sent, type: PROTOBUF_TYPE, content: Buffer.from(bytes) }
  }
  const resets = resets_in_seconds === undefined ? {} : { resets_in_seconds }
  const content = { code, message, error, request_id, ...resets }
  return { status: sent, type: JSON_TYPE, content }
}

/** A body as `answerError` makes it. */
interface ErrorBody {
  readonly detail?: string | { readonly message: string }
  readonly code: string
  readonly request_id: string
  readonly resets_in_seconds?: number
}

const INVALID_ARGUMENT = 3
const INTERNAL = 13
/** `google.rpc.Code` by the status of HTTP. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: INVALID_ARGUMENT,
  401: 16,
  402: 8,
  403: 7,
  404: 5,
  408: 4,
  409: 10,
  413: INVALID_ARGUMENT,
  429: 8,
  503: 14,
}
