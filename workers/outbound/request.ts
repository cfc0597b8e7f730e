import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import got from 'got'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inSpan } from '../../jobs/spans.ts'
import type { GuardedAgents } from './guarded-agent.ts'

export interface OutboundRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** From the start to the last byte of the answer, resolving and connecting included. */
  readonly timeoutMs: number
  /** Of the answer's body, which is read no further. */
  readonly maxBytes: number
  /** Ends the request early: with the fault `aborted`, or an answer that has begun with the cut `aborted`. */
  readonly signal?: AbortSignal
  /** Default: every answer is read as it comes. */
  readonly room?: AnswerRoom
}

/** Bounds the memory of large answers. */
export interface AnswerRoom {
  /** An answer is read in steps of so many bytes, the first one without asking. */
  readonly stepBytes: number
  /**
   * Resolves to true when there is room for another step; to false when there will be none soon: the
   * answer is then read no further, with the cut `no_room`.
   */
  enter(): Promise<boolean>
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
 * POSTs a body once to an address that a client gave; never throws. It follows no redirect, and it is
 * never repeated here: whoever resets a connection may have read the request before.
 */
export async function request(
  agents: GuardedAgents,
  options: OutboundRequest,
): Promise<OutboundOutcome> {
  // The rest of the address may be a secret of the receiver's.
  const attributes = {
    'http.request.method': 'POST',
    'server.address': URL.parse(options.url)?.hostname,
  }
  return inSpan('POST', { kind: SpanKind.CLIENT, attributes }, async (span) => {
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
  const { url, headers, body, timeoutMs, maxBytes, signal, room } = options
  return new Promise<OutboundOutcome>((resolve) => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const stream = client.stream(url, {
      method: 'POST',
      agent: { https: agents.https, http: agents.http },
      headers: { ...headers },
      body,
    })
    const chunks: Buffer[] = []
    let size = 0
    let response: IncomingMessage | undefined
    let readable = room?.stepBytes ?? maxBytes
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
    async function enter({ enter, stepBytes }: AnswerRoom) {
      stream.pause()
      isWaiting = true
      while (readable < size && (await enter())) readable += stepBytes
      isWaiting = false
      if (readable < size) settle('no_room')
      else stream.resume()
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
      if (room && size > readable && !isWaiting) void enter(room)
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

/** What an error of a connection means. */
export function faultOf(error: unknown): OutboundFault {
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
