import { SpanKind } from '@opentelemetry/api'
import { request as requestPlainly } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestSafely } from 'node:https'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { inSpan } from '../../jobs/spans.ts'
import type { GuardedAgents } from './guarded-agent.ts'
import { faultOf } from './request.ts'
import type { OutboundFault } from './request.ts'

export interface FetchOptions {
  /** What reaches an address. */
  readonly agentsFor: (url: URL) => GuardedAgents
  /** Ends every request. */
  readonly signal: AbortSignal
  /** How long nothing may come or go. */
  readonly idleMs: number
  /** Of an answer's body; a longer one is a fault. */
  readonly maxBytes: number
}

/** A request had no answer, or not all of it. The message names no more than method and host. */
export class NoAnswer extends Error {
  readonly fault: OutboundFault

  constructor(method: string, host: string, fault: OutboundFault) {
    super(`${method} to ${host}: ${fault}`)
    this.fault = fault
  }
}

/** An answer that was read whole. */
export interface GuardedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer<ArrayBuffer>
}

/** A `fetch` for libraries, as `guardedRequest` sends requests. */
export function guardedFetch(options: FetchOptions) {
  const send = guardedRequest(options)
  return async (target: string, init?: GuardedInit): Promise<Response> => {
    const { status, headers, body } = await send(target, init)
    const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)])
    return new Response(BODILESS.has(status) ? null : body, {
      status,
      headers: Object.fromEntries(pairs) as Record<string, string>,
    })
  }
}

/**
 * Sends requests over agents that check addresses: with texts and blobs, these as a stream. Answers are read
 * whole, and no redirect is followed.
 * @throws NoAnswer, the signal's reason, or what the reading of a blob fails with
 */
export function guardedRequest(options: FetchOptions) {
  return async (target: string, init: GuardedInit = {}): Promise<GuardedAnswer> => {
    const { method = 'GET' } = init
    const url = URL.parse(target)
    // The error of the parser would hold the address.
    if (!url) throw new NoAnswer(method, 'an unreadable address', 'connection_error')
    const attributes = { 'http.request.method': method, 'server.address': url.hostname }
    return inSpan(method, { kind: SpanKind.CLIENT, attributes }, () => send(url, init, options))
  }
}

export interface GuardedInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Blob
  readonly signal?: AbortSignal
}

async function send(
  url: URL,
  { method = 'GET', headers = {}, body = '', signal }: GuardedInit,
  options: FetchOptions,
) {
  const isPlain = url.protocol === 'http:'
  let request: ClientRequest | undefined
  try {
    const agents = options.agentsFor(url)
    request = (isPlain ? requestPlainly : requestSafely)(url, {
      method,
      agent: isPlain ? agents.http : agents.https,
      headers: {
        ...headers,
        ...(method !== 'GET' && { 'content-length': sizeOf(body) }),
        'accept-encoding': 'identity',
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      timeout: options.idleMs,
      signal: signal ? AbortSignal.any([signal, options.signal]) : options.signal,
    })
    return await readAnswer(await exchange(request, body), options.maxBytes)
  } catch (error) {
    options.signal.throwIfAborted()
    signal?.throwIfAborted()
    if (error instanceof Unreadable) throw error.cause
    const fault = error instanceof TooLarge ? 'too_large' : faultOf(error)
    throw new NoAnswer(method, url.hostname, fault)
  } finally {
    request?.destroy()
  }
}

/** Resolves with the answer, which may begin before all of the body is sent: that is then sent no further. */
function exchange(request: ClientRequest, body: string | Blob) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('timeout', () => request.destroy(new Idle()))
    // This listener stays, because destroying the request may raise another error.
    request.on('error', reject)
    if (typeof body === 'string') return void request.end(body)
    pipeline(readBody(body), request).catch(reject)
  })
}

async function* readBody(body: Blob) {
  try {
    yield* body.stream() as ReadableStream<Uint8Array>
  } catch (cause) {
    throw new Unreadable(undefined, { cause })
  }
}

/** Into one buffer, as large as the answer where that says its length: large ones are never there twice. */
async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<GuardedAnswer> {
  const { statusCode: status = 0, headers } = response
  const told = Number(headers['content-length'])
  if (told > maxBytes) throw new TooLarge()
  let body = Buffer.allocUnsafe(told || FIRST_BYTES)
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const end = size + chunk.length
    if (end > maxBytes) throw new TooLarge()
    if (end > body.length) body = grown(body, Math.min(maxBytes, Math.max(end, 2 * body.length)))
    chunk.copy(body, size)
    size = end
  }
  return { status, headers, body: body.subarray(0, size) }
}

function grown(buffer: Buffer, bytes: number) {
  const larger = Buffer.allocUnsafe(bytes)
  buffer.copy(larger)
  return larger
}

function sizeOf(body: string | Blob) {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.size
}

class Idle extends Error {
  readonly code = 'ETIMEDOUT'
}
class TooLarge extends Error {}
/** The cause is what the reading of a blob failed with. */
class Unreadable extends Error {}

/** Of which a `Response` takes no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
const MAX_HEADER_BYTES = 16_384
/** Room for an answer that does not say its length. */
const FIRST_BYTES = 64 << 10
