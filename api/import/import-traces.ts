import Joi from 'joi'
import { NEWLINE } from '../../jobs/rules/core/json-bytes.ts'
import type { UnparsedJson } from '../../jobs/rules/core/json-pieces.ts'
import { isObject } from '../../jobs/rules/core/reader.ts'
import { listOf } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { waitHeaders } from '../fields.ts'
import type { CheckedBody } from '../endpoint.ts'
import { importBody } from './import.ts'
import { importQuery, receiveImport } from './upload.ts'

const MAX_RECORDS = 100_000

const tracesBody: CheckedBody<readonly UnparsedJson[]> = {
  documented: Joi.object({
    traces: listOf(Joi.object().unknown(true)).max(MAX_RECORDS).required(),
  })
    .label('ImportedTraces')
    .example({ traces: [{ agent_name: 'shop-agent', user_input_preview: 'Where is order 42?' }] }),
  maxBytes: 50 << 20,
  // None of them is made here: the job bounds those of each record.
  maxValues: Infinity,
  apart: { name: 'traces', max: MAX_RECORDS },
  read(value) {
    const traces = isObject(value) ? value['traces'] : undefined
    if (Array.isArray(traces) && traces.length <= MAX_RECORDS) {
      return { value: traces as UnparsedJson[] }
    }
    const message = `must be a list of at most ${MAX_RECORDS} records; files go to /import/jsonl`
    return { faults: [{ field: 'body.traces', message }] }
  },
}

export const importTraces = endpoint('POST', '/import/traces', {
  summary: 'Import traces that are in the request',
  description:
    'The same as an upload of `traces` as JSON Lines: the records may have any of the formats of `/import/jsonl`, duplicates and errors are as there, and the line of an error is the 1-based place in `traces`.',
  access: 'key',
  query: importQuery,
  body: tracesBody,
  headers: waitHeaders,
  answers: { 200: importBody, 202: importBody },
  handle: (call) => receiveImport(call, linesOf(call.body)),
})

/** JSON Lines in blocks: many small ones would each cost a turn of their own, and a long one too much. */
async function* linesOf(traces: readonly UnparsedJson[]) {
  let block: Buffer[] = []
  let length = 0
  for (const { bytes } of traces) {
    for (let start = 0; start < bytes.length; start += BLOCK_BYTES) {
      const part = bytes.subarray(start, start + BLOCK_BYTES)
      block.push(onOneLine(part))
      length += part.length
      if (length < BLOCK_BYTES) continue
      yield Buffer.concat(block)
      block = []
      length = 0
    }
    block.push(END)
  }
  yield Buffer.concat(block)
}

/** Changes the bytes in place. Line breaks stand only between the tokens of JSON. */
function onOneLine(bytes: Buffer) {
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === NEWLINE || bytes[i] === RETURN) bytes[i] = SPACE
  }
  return bytes
}

const BLOCK_BYTES = 256 << 10
const END = Buffer.from('\n')
const RETURN = 0x0d
const SPACE = 0x20
