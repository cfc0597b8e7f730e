import Joi from 'joi'
import { anyText, listOf, recordOf, shape } from '../../jobs/shape.ts'
import { OutsideFault } from '../runtime/give-up.ts'
import { HubRefused } from './hub-fetch.ts'

/**
 * An answer of the hub that says where files are uploaded to, when the library can use it: errors that
 * the library finds in it while it uploads may be lost.
 * @param asked the body of the request
 * @throws HubRefused for a file that the hub refuses, OutsideFault for what else is wrong
 */
export async function readBatch(response: Response, asked: string): Promise<Response> {
  const text = await response.text()
  const { error, value } = BATCH.validate(parse(text))
  if (error) throw unusable()
  const { objects } = JSON.parse(asked) as { objects: { oid: string; size: number }[] }
  const sizes = new Map(objects.map(({ oid, size }) => [oid, size]))
  for (const { oid, error: refusal, actions } of value.objects) {
    const size = sizes.get(oid)
    if (size === undefined) throw unusable()
    if (refusal) throw refused(refusal.code, refusal.message)
    const { chunk_size: chunk, ...others } = actions?.upload?.header ?? {}
    const parts = Object.keys(others).filter((name) => /^\d+$/.test(name))
    if (chunk !== undefined && parts.length !== Math.ceil(size / Number(chunk))) throw unusable()
  }
  return new Response(text, response)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable()
  }
}

function refused(status: number, sentence: string) {
  return new HubRefused({ status, sentence, retryAfterSeconds: null, isOfStorage: false })
}

function unusable() {
  return new OutsideFault('hub_unavailable', 'The hub answered something else than expected')
}

const UPLOAD = shape({ href: anyText() }, { header: recordOf(anyText()) })
const OBJECT = shape(
  { oid: anyText() },
  {
    error: shape({ code: Joi.number().integer(), message: anyText() }),
    actions: shape({}, { upload: UPLOAD }),
  },
)
const BATCH = shape({ objects: listOf(OBJECT) }).required()
