import type { Request } from '@hapi/hapi'
import { randomUUIDv7 } from 'node:crypto'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** How long clients may take. */
export interface PatienceLimits {
  /** Bound of the time from the connection, or from the last answer, to the end of the headers. */
  readonly headersMs: number
  /** Bound of the time for a body that is not streamed. */
  readonly bodyMs: number
  /** Time in which a streamed upload has to bring `MIN_UPLOAD_BYTES`. */
  readonly uploadCheckMs: number
}

export const PATIENCE: PatienceLimits = { headersMs: 10_000, bodyMs: 30_000, uploadCheckMs: 60_000 }

/**
 * The listener under the server. Its time limits end slow clients; hapi's own do not. It has none for
 * bodies, because a streamed upload may take long: the reader of a body limits it.
 */
export function createListener({ headersMs }: PatienceLimits): Server {
  return createServer({
    connectionsCheckingInterval: Math.min(1000, headersMs),
    headersTimeout: headersMs,
    requestTimeout: 0,
  })
}

/**
 * Gives the answers to what Node's parser refuses the shape of all errors. An error during a request is
 * left to hapi. Call it after hapi has taken the listener.
 */
export function answerUnparsable(listener: Server) {
  const handlers = listener.listeners('clientError') as ((error: Error, socket: Duplex) => void)[]
  const busy = new WeakSet<Duplex>()
  listener.on('request', (request, response) => {
    busy.add(request.socket)
    response.once('close', () => busy.delete(request.socket))
  })
  listener.removeAllListeners('clientError')
  listener.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (busy.has(socket)) return handlers.forEach((handle) => handle(error, socket))
    if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
    socket.end(unparsableAnswer(error.code))
  })
}

/** Ends a streamed upload that stalls; one that proceeds has no time limit. */
export function watchUpload({ raw: { req, res } }: Request, { uploadCheckMs }: PatienceLimits) {
  if (req.complete !== false) return
  let seenBytes = req.socket.bytesRead
  const timer = setInterval(() => {
    if (req.socket.bytesRead - seenBytes < MIN_UPLOAD_BYTES) req.destroy()
    seenBytes = req.socket.bytesRead
  }, uploadCheckMs)
  req.once('close', () => clearInterval(timer))
  req.once('end', () => clearInterval(timer))
  // The rest of a body that was answered early is not read.
  res.once('close', () => clearInterval(timer))
}

function unparsableAnswer(code: string | undefined) {
  const isSlow = code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const requestId = randomUUIDv7()
  const body = JSON.stringify({
    detail: isSlow
      ? 'The request took too long'
      : code === 'HPE_HEADER_OVERFLOW'
        ? 'The headers are too large'
        : 'Not a well-formed HTTP request',
    code: isSlow ? 'request_timeout' : 'bad_request',
    request_id: requestId,
  })
  return [
    `HTTP/1.1 ${isSlow ? '408 Request Timeout' : '400 Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-ID: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

const MIN_UPLOAD_BYTES = 64 << 10
