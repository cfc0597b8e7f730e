import Joi from 'joi'
import { anyText, listOf, recordOf, shape, text } from '../../../jobs/shape.ts'
import type { Valid } from '../../../jobs/shape.ts'
import { OutsideFault } from '../../runtime/give-up.ts'
import { HubRefused } from './fetch.ts'

/**
 * Checks what the library reads of an answer before it uploads, because it trusts the hub there.
 * @param asked the body of the request
 * @returns the answer
 * @throws HubRefused for a file that the hub refuses, OutsideFault for what the library cannot use
 */
export async function checkAnswer(
  target: string,
  asked: unknown,
  response: Response,
): Promise<Response> {
  const isBatch = target.endsWith('/info/lfs/objects/batch')
  if (!isBatch && !target.includes('/preupload/')) return response
  const answer = await readJson(response.clone())
  if (isBatch) checkBatch(readAs(BATCH, answer), asked as string)
  else readAs(PREUPLOAD, answer)
  return response
}

/** The JSON of an answer; undefined where it is none. */
export async function readJson(response: Response): Promise<unknown> {
  return response.json().catch(() => undefined)
}

/** What a hub answers as what it is to be: nothing of it is trusted. @throws OutsideFault */
export function readAs<S extends Joi.Schema>(schema: S, answer: unknown): Valid<S> {
  const { error, value } = schema.required().validate(answer)
  if (error) throw unusable()
  return value as Valid<S>
}

/** The id of a commit. */
export const commitId = () => text(128).pattern(/^\w+$/)

/** Each file has to be one of those asked for, with as many parts as its size needs, in their order. */
function checkBatch(batch: Valid<typeof BATCH>, asked: string) {
  const { objects } = JSON.parse(asked) as { objects: { oid: string; size: number }[] }
  const sizes = new Map(objects.map(({ oid, size }) => [oid, size]))
  for (const { oid, error: refusal, actions } of batch.objects) {
    const size = sizes.get(oid)
    if (size === undefined) throw unusable()
    if (refusal) throw refused(refusal.code, refusal.message)
    const { chunk_size: chunk, ...others } = actions?.upload?.header ?? {}
    if (chunk === undefined) continue
    const parts = Object.keys(others).filter((name) => /^\d+$/.test(name))
    const areInOrder = parts.every((part, i) => Number(part) === i + 1)
    if (!areInOrder || parts.length !== Math.ceil(size / Number(chunk))) throw unusable()
  }
}

function refused(status: number, sentence: string) {
  return new HubRefused({ status, sentence, retryAfterSeconds: null, asked: 'hub' })
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
const BATCH = shape({ objects: listOf(OBJECT) })
const PREUPLOAD = shape({ files: listOf(shape({ path: anyText(), uploadMode: anyText() })) })
