import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import got from 'got'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inSpan } from '../../jobs/spans.ts'
import type { GuardedAgents } from './guarded-agent.ts'

export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Of a POST; default none. */
  readonly body?: Buffer
  /** From the start to the last byte of the answer, resolving and connecting included. */
  readonly timeoutMs: number
  /** Of the answer's body, which is read no further. */
  readonly maxBytes: number
  /** Ends the request early, with the fault `aborted`. */
  readonly signal?: AbortSignal
  /** Default: every answer is read as it comes. */
  readonly room?: AnswerRoom
}

/** Bounds the memory of large answers. */
export interface AnswerRoom {
  /** An answer is read this far without asking. */
  readonly smallBytes: number
  /**
   * Resolves when there is room for an answer of so many bytes, to false when there will be none soon: it
   * is then read no further, with the fault `no_room`.
   */
  enter(bytes: number): Promise<boolean>
}

/** What came of a request: an answer, or why there is none. */
export type OutboundOutcome = OutboundAnswer | { readonly fault: OutboundFault }

export interface OutboundAnswer {
  readonly fault: null
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** As much of it as came. */
  readonly body: Buffer
  /** Why the body is not whole; null when it is. */
  readonly cut: OutboundFault | null
}

export type OutboundFault = (typeof OUTBOUND_FAULTS)[number]

/** Why a request had no answer, or not all of it. */
export const OUTBOUND_FAULTS = [
  'blocked_address',
  'timeout',
  'connection_refused',
  'connection_reset',
  'dns_error',
  'tls_error',
  'too_large',
  'no_room',
  'aborted',
  'connection_error',
] as const

/**
 * Makes one request to an address that a client gave; never throws. It follows no redirect, and it is
 * never repeated here: whoever resets a connection may have read the request before.
 */
export async function request(
  agents: GuardedAgents,
  options: OutboundRequest,
): Promise<OutboundOutcome> {
  const { method, url } = options
  // The rest of the address may be a secret of the receiver's.
  const attributes = {
    'http.request.method': method,
    'server.address': URL.parse(url)?.hostname,
  }
  return inSpan(method, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const outcome = await send(agents, options)
    const error = outcome.fault ?? findStatusFault(outcome.status)
    if (error) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
    return outcome
  })
}

/** What is wrong with an answer that is not a 2xx; null for one that is. */
export function findStatusFault(status: number): 'redirect' | 'http_status' | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirect' : 'http_status'
}

function send(agents: GuardedAgents, options: OutboundRequest) {
  const { method, url, headers, timeoutMs, maxBytes, signal, room, body = NOTHING } = options
  return new Promise<OutboundOutcome>((resolve) => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const stream = client.stream(url, {
      method,
      agent: { https: agents.https, http: agents.http },
      headers: { ...headers },
      ...(method === 'POST' && { body }),
    })
    const chunks: Buffer[] = []
    let size = 0
    let response: IncomingMessage | undefined
    let entering: Promise<void> | undefined
    let isWaiting = false

    function settle(cut: OutboundFault | null) {
      deadline.removeEventListener('abort', expire)
      signal?.removeEventListener('abort', abort)
      stream.destroy()
      resolve(
        response
          ? { fault: null, ...describe(response), body: Buffer.concat(chunks), cut }
          : { fault: cut ?? 'connection_error' },
      )
    }
    function expire() {
      settle(isWaiting ? 'no_room' : 'timeout')
    }
    async function enter({ enter }: AnswerRoom) {
      stream.pause()
      isWaiting = true
      const isIn = await enter(expectedBytes(response, maxBytes))
      isWaiting = false
      if (isIn) stream.resume()
      else settle('no_room')
    }
    function abort() {
      settle('aborted')
    }
    deadline.addEventListener('abort', expire)
    signal?.addEventListener('abort', abort)
    stream.on('response', (given: IncomingMessage) => {
      response = given
    })
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, maxBytes - size))
      size += chunk.length
      if (size > maxBytes) return settle('too_large')
      if (room && size > room.smallBytes) entering ??= enter(room)
    })
    stream.once('end', () => settle(null))
    // This listener stays, because destroying the stream may raise another error.
    stream.on('error', (error: Error) => settle(faultOf(error)))
    if (signal?.aborted) abort()
  })
}

function describe({ statusCode = 0, headers }: IncomingMessage) {
  return { status: statusCode, headers }
}

/** What an answer says that it has, or the most it may have. */
function expectedBytes(response: IncomingMessage | undefined, maxBytes: number) {
  const told = Number(response?.headers['content-length'] ?? maxBytes)
  return told >= 0 ? Math.min(told, maxBytes) : maxBytes
}

function faultOf(error: Error): OutboundFault {
  const code = codeOf(error)
  return FAULT_OF_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection_error'
}

/** The innermost code: got wraps what the socket said. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const inner = 'cause' in error ? codeOf(error.cause) : ''
  const code = 'code' in error ? error.code : undefined
  return inner || (typeof code === 'string' ? code : '')
}

const FAULT_OF_CODE: readonly (readonly [RegExp, OutboundFault])[] = [
  [/^EBLOCKED$/, 'blocked_address'],
  [/TIMEDOUT|TIMEOUT/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(ECONNRESET|EPIPE)$/, 'connection_reset'],
  [/^(ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|EREFUSED|EBADNAME)$/, 'dns_error'],
  [/TLS|SSL|CERT|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO/, 'tls_error'],
]

const NOTHING = Buffer.alloc(0)

const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  throwHttpErrors: false,
  decompress: false,
  http2: false,
  enableUnixSockets: false,
  maxHeaderSize: 8192,
  headers: { accept: undefined, 'accept-encoding': undefined },
})
