import type { Request } from '@hapi/hapi'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { MAX_DEPTH } from '../jobs/rules/core/depth.ts'
import { locateInPieces, nameJsonFault } from '../jobs/rules/core/json-fault.ts'
import { parseInPieces } from '../jobs/rules/core/json-pieces.ts'
import type { ListApart } from '../jobs/rules/core/json-pieces.ts'
import { JsonScan, MAX_MEMBERS, MAX_VALUES } from '../jobs/rules/core/json-scan.ts'
import type { JsonFinding, JsonLimits } from '../jobs/rules/core/json-scan.ts'
import { expectedBytes, readParts, tooLarge } from './body-bytes.ts'
import { SMALL_BYTES } from './body-room.ts'
import type { BodyRoom } from './body-room.ts'
import { isUtf8InPieces, joinInPieces } from './byte-pieces.ts'
import type { Body } from './endpoint.ts'
import { badRequest, validationError } from './errors.ts'
import { inTurns } from './in-turns.ts'

/** How the bodies of a server are read. */
export interface BodyReading {
  /** Bound of the time for a body that is not streamed. */
  readonly timeoutMs: number
  readonly room: BodyRoom
}

/**
 * Reads a request's body as its operation declares and sets the payload as hapi would. hapi's own reader
 * waits for the end of a body that it has refused.
 * @throws ApiError 400, 408, 413, 422 or 503
 */
export async function takeBody(request: Request, body: Body | undefined, reading: BodyReading) {
  const { req } = request.raw
  const maxBytes = body && 'maxBytes' in body ? body.maxBytes : MAX_BODY_BYTES
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const payload =
    body && 'stream' in body
      ? Readable.from(limited(req, maxBytes), { objectMode: false })
      : await readJson(request, { maxBytes, ...(body && 'read' in body && body) }, reading)
  Object.assign(request, { payload })
}

/** Passes a stream on, up to `maxBytes`. */
async function* limited(req: IncomingMessage, maxBytes: number) {
  let bytes = 0
  // Destroying the request would close the connection before the answer.
  const parts: AsyncIterable<Buffer> = req.iterator({ destroyOnReturn: false })
  for await (const part of parts) {
    bytes += part.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield part
  }
}

async function readJson(
  request: Request,
  { maxBytes, maxValues = MAX_VALUES, apart }: JsonBody,
  reading: BodyReading,
): Promise<unknown> {
  const { req } = request.raw
  const type = req.headers['content-type']
  if (type !== undefined && !/^\s*application\/json\s*(;|$)/i.test(type)) {
    throw badRequest('Content-Type must be application/json')
  }
  const limits = { depth: MAX_DEPTH, members: MAX_MEMBERS, values: maxValues }
  const scan = new JsonScan(limits)
  let found: JsonFinding | undefined
  const bytes = await readWhole(request, maxBytes, reading, (part) => {
    // A body that is too long is told so, whatever else is wrong with it.
    found ??= scan.take(part)
    const isLarge = found && found.kind !== 'malformed' && found.kind !== 'too deep'
    return isLarge ? errorOf(found as Excess, limits) : undefined
  })
  if (bytes.length === 0) return undefined
  if (!(await inTurns(isUtf8InPieces(bytes)))) throw badRequest('The body is not UTF-8')
  found ??= scan.end()
  if (found?.kind === 'malformed') throw await malformed(bytes, found.at)
  if (found) throw errorOf(found, limits)
  if (scan.hasProto) throw badRequest('The body has a member __proto__, which is not accepted')
  const isSmall = bytes.length <= SMALL_BYTES && !apart
  return isSmall ? JSON.parse(bytes.toString()) : inTurns(parseInPieces(bytes, apart))
}

/**
 * Reads a whole body within the room that bodies share.
 * @param check is shown each part; reading ends at once with the error it returns
 * @throws ApiError 400, 408, 413 or 503
 */
export async function readWhole(
  request: Request,
  maxBytes: number,
  { timeoutMs, room }: BodyReading,
  check: (part: Buffer) => Error | undefined = () => undefined,
): Promise<Buffer> {
  const { req } = request.raw
  const { list, length } = await readParts(req, {
    maxBytes,
    timeoutMs,
    smallBytes: SMALL_BYTES,
    grow: () => room.grow(request, expectedBytes(req, maxBytes)),
    check,
  })
  room.settle(request, length)
  return inTurns(joinInPieces(list, length))
}

function errorOf({ kind }: Excess, limits: JsonLimits) {
  switch (kind) {
    case 'too deep':
      return tooMuch(`is nested deeper than ${limits.depth} levels`)
    case 'too wide':
      return tooMuch(`has an object of more than ${limits.members} members`)
    case 'too many values':
      return tooMuch(`holds more than ${limits.values} values`)
  }
}

const tooMuch = (message: string) => validationError([{ field: 'body', message }])

async function malformed(bytes: Buffer, at: number) {
  const fault = await inTurns(locateInPieces(bytes, at))
  const what = `${nameJsonFault(fault)} at line ${fault.line}, column ${fault.column}`
  return badRequest(`The body is not well-formed JSON: ${what}`)
}

/** Bound of a JSON body after inflation. */
export const MAX_BODY_BYTES = 5 << 20

type Excess = Exclude<JsonFinding, { kind: 'malformed' }>

interface JsonBody {
  readonly maxBytes: number
  readonly maxValues?: number
  readonly apart?: ListApart
}

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    bodies: BodyReading
  }
}
