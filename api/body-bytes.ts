import type { IncomingMessage } from 'node:http'
import { createGunzip, createInflate } from 'node:zlib'
import { ApiError, badRequest } from './errors.ts'

interface ByteReading {
  /** Bound of the body after inflation. */
  readonly maxBytes: number
  /** Bound of the body as it is sent. */
  readonly maxSentBytes: number
  /** Bound of the time until the body is there. */
  readonly timeoutMs: number
  /** A body that grows beyond so many bytes is read on when `grow` resolves. */
  readonly smallBytes: number
  grow(): Promise<void>
  /** Is shown each part; reading ends at once with the error it returns. */
  check(part: Buffer): Error | undefined
}

/**
 * Reads and inflates a whole body, in its parts. After an error the connection stays open for the answer.
 * @throws ApiError 400, 408 or 413, and what `check` and `grow` give
 */
export function readParts(
  req: IncomingMessage,
  { maxBytes, maxSentBytes, timeoutMs, smallBytes, grow, check }: ByteReading,
): Promise<Parts> {
  const inflate = inflater(req)
  const source = inflate ? req.pipe(inflate) : req
  const list: Buffer[] = []
  let length = 0
  let isSmall = true
  return new Promise<Parts>((resolve, reject) => {
    if (req.destroyed) return reject(cutOff())
    let timer = startTimer()
    function startTimer() {
      return setTimeout(() => reject(tooSlow()), timeoutMs)
    }
    async function goOnWhenGrown() {
      source.pause()
      clearTimeout(timer)
      await grow()
      // The wait was not the client's doing.
      timer = startTimer()
      source.resume()
    }
    req.once('close', () => clearTimeout(timer))
    req.once('aborted', () => reject(cutOff()))
    source.on('data', (part: Buffer) => {
      length += part.length
      list.push(part)
      const sent = inflate ? inflate.bytesWritten : length
      const error =
        length > maxBytes || sent > maxSentBytes
          ? tooLarge(length > maxBytes ? maxBytes : maxSentBytes)
          : inflate && length > UNMEASURED_BYTES && length > MAX_RATIO * inflate.bytesWritten
            ? tooCompressed()
            : check(part)
      if (error) {
        source.removeAllListeners('data')
        reject(error)
      } else if (isSmall && length > smallBytes) {
        isSmall = false
        goOnWhenGrown().catch(reject)
      }
    })
    source.once('end', () => {
      clearTimeout(timer)
      resolve({ list, length })
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

/** The parts of a body as they came. */
export interface Parts {
  readonly list: readonly Buffer[]
  readonly length: number
}

/** The most bytes that a body can have once it is inflated, by what its headers tell. */
export function expectedBytes({ headers }: IncomingMessage, maxBytes: number): number {
  const sentBytes = Number(headers['content-length'] ?? Infinity)
  const isInflated = headers['content-encoding'] !== undefined
  return Math.min(maxBytes, isInflated ? UNMEASURED_BYTES + MAX_RATIO * sentBytes : sentBytes)
}

/** The Content-Encoding of a request, in lower case. */
export function encodingOf({ headers }: IncomingMessage) {
  return headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
}

function inflater(req: IncomingMessage) {
  switch (encodingOf(req)) {
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ chunkSize: CHUNK_BYTES })
    case 'deflate':
      return createInflate({ chunkSize: CHUNK_BYTES })
    default:
      throw badRequest('Content-Encoding must be gzip or deflate')
  }
}

export function tooLarge(maxBytes: number) {
  return new ApiError(413, 'payload_too_large', `The body is larger than ${maxBytes} bytes`)
}

function tooCompressed() {
  const detail = `The body is more than ${MAX_RATIO} times as long inflated as it was sent; send it in parts or without compression`
  return new ApiError(413, 'payload_too_large', detail)
}

const cutOff = () => badRequest('The body was cut off')

function tooSlow() {
  return new ApiError(408, 'request_timeout', 'The body took too long')
}

const CHUNK_BYTES = 64 << 10
/** How many times as long as it was sent a body may be inflated. Conversations reach 10 to 30. */
const MAX_RATIO = 200
/** Up to here a body may inflate as it will. */
const UNMEASURED_BYTES = 1 << 20
