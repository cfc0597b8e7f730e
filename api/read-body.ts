import Bourne from '@hapi/bourne'
import type { Request } from '@hapi/hapi'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { findJsonFault, nameJsonFault } from '../jobs/rules/core/json-fault.ts'
import type { Body } from './endpoint.ts'
import { ApiError, badRequest } from './errors.ts'

/**
 * Reads a request's body as its operation declares and sets the payload as hapi would. hapi's own reader
 * waits for the end of a body that it has refused.
 * @throws ApiError 400, 408 or 413
 */
export async function takeBody(request: Request, body: Body | undefined, timeoutMs: number) {
  const { req } = request.raw
  const maxBytes = body && 'maxBytes' in body ? body.maxBytes : MAX_BODY_BYTES
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const payload =
    body && 'stream' in body
      ? Readable.from(limited(req, maxBytes), { objectMode: false })
      : await readJson(req, maxBytes, timeoutMs)
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
  req: IncomingMessage,
  maxBytes: number,
  timeoutMs: number,
): Promise<unknown> {
  const type = req.headers['content-type']
  if (type !== undefined && !/^\s*application\/json\s*(;|$)/i.test(type)) {
    throw badRequest('Content-Type must be application/json')
  }
  const bytes = await readBytes(req, maxBytes, timeoutMs)
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw badRequest('The body is not UTF-8')
  const text = bytes.toString()
  try {
    return Bourne.parse(text, { protoAction: 'error' })
  } catch {
    throw malformed(text)
  }
}

function malformed(text: string) {
  const fault = findJsonFault(text)
  if (!fault) return badRequest('The body has a member __proto__, which is not accepted')
  const { line, column } = fault
  const what = nameJsonFault(fault)
  return badRequest(`The body is not well-formed JSON: ${what} at line ${line}, column ${column}`)
}

/** Reads and inflates a whole body. After an error the connection stays open for the answer. */
function readBytes(req: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  const inflate = inflater(req)
  const source = inflate ? req.pipe(inflate) : req
  const parts: Buffer[] = []
  let length = 0
  return new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow()), timeoutMs)
    req.once('close', () => clearTimeout(timer))
    req.once('aborted', () => reject(badRequest('The body was cut off')))
    source.on('data', (part: Buffer) => {
      length += part.length
      if (length > maxBytes) reject(tooLarge(maxBytes))
      else parts.push(part)
    })
    source.once('end', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(parts, length))
    })
    source.on('error', () => reject(badRequest('The body cannot be inflated')))
  }).catch((error: unknown) => {
    source.removeAllListeners('data')
    if (inflate) req.unpipe(inflate)
    inflate?.destroy()
    req.pause()
    throw error
  })
}

function inflater(req: IncomingMessage) {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  switch (encoding) {
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    default:
      throw badRequest('Content-Encoding must be gzip or deflate')
  }
}

function tooLarge(maxBytes: number) {
  return new ApiError(413, 'payload_too_large', `The body is larger than ${maxBytes} bytes`)
}

function tooSlow() {
  return new ApiError(408, 'request_timeout', 'The body took too long')
}

/** Bound of a JSON body after inflation. */
const MAX_BODY_BYTES = 5 << 20
