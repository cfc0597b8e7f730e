import Joi from 'joi'
import { isObject } from '../../jobs/rules/core/reader.ts'
import { endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { importBody } from './import.ts'
import { importQuery, receiveImport } from './upload.ts'

const tracesBody: CheckedBody<readonly unknown[]> = {
  documented: Joi.object({
    traces: Joi.array().items(Joi.object().unknown(true)).required(),
  })
    .label('ImportedTraces')
    .example({ traces: [{ agent_name: 'shop-agent', user_input_preview: 'Where is order 42?' }] }),
  maxBytes: 50 << 20,
  read(value) {
    const traces = isObject(value) ? value['traces'] : undefined
    if (Array.isArray(traces)) return { value: traces }
    return { faults: [{ field: 'body.traces', message: 'must be a list' }] }
  },
}

export const importTraces = endpoint('POST', '/import/traces', {
  summary: 'Import traces that are in the request',
  description:
    'The same as an upload of `traces` as JSON Lines: formats, duplicates and errors are those of `/import/jsonl`, and the line of an error is the 1-based place in `traces`.',
  access: 'key',
  query: importQuery,
  body: tracesBody,
  answers: { 200: importBody, 202: importBody },
  handle: (call) => receiveImport(call, linesOf(call.body)),
})

async function* linesOf(traces: readonly unknown[]) {
  for (const trace of traces) yield Buffer.from(`${JSON.stringify(trace)}\n`)
}
