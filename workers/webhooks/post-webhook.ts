import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import got from 'got'
import type { Agent } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { AttemptResult } from '../../sql/webhooks/delivery-attempts.ts'
import { inSpan } from '../../jobs/spans.ts'
import { storableText } from '../../sql/core/db.ts'

/**
 * POSTs a body once and returns the outcome; never throws. A body counts as delivered when a 2xx status
 * comes within `TIMEOUT_MS` of the start, resolving and connecting included. The answer is kept up to
 * `EXCERPT_BYTES`; an answer that stalls or breaks after its status changes nothing. A request is never
 * repeated here: whoever resets a connection may have read the request before.
 */
export async function postWebhook(
  agent: Agent,
  url: string,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<AttemptResult & { retryAfterSeconds?: number }> {
  const started = performance.now()
  // The rest of the address may be a secret of the receiver's.
  const attributes = { 'http.request.method': 'POST', 'server.address': URL.parse(url)?.hostname }
  const outcome = await inSpan('POST', { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const { error, ...posted } = await post(agent, url, body, headers)
    if (error !== null)
      span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
    return { error, ...posted }
  })
  return { ...outcome, duration_ms: Math.round(performance.now() - started) }
}

type Outcome = Omit<AttemptResult, 'duration_ms'> & { retryAfterSeconds?: number }

function post(agent: Agent, url: string, body: Buffer, headers: Readonly<Record<string, string>>) {
  return new Promise<Outcome>((resolve) => {
    const deadline = AbortSignal.timeout(TIMEOUT_MS)
    const stream = client.stream.post(url, {
      agent: { https: agent },
      body,
      headers: { ...headers },
    })
    const excerpt: Buffer[] = []
    let size = 0
    let response: IncomingMessage | undefined

    function settle(failure?: Error) {
      deadline.removeEventListener('abort', expire)
      stream.destroy()
      resolve(response ? answered(response, Buffer.concat(excerpt)) : refused(failure))
    }
    function expire() {
      settle(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' }))
    }
    deadline.addEventListener('abort', expire)
    stream.on('response', (given: IncomingMessage) => {
      response = given
    })
    stream.on('data', (chunk: Buffer) => {
      excerpt.push(chunk.subarray(0, EXCERPT_BYTES - size))
      size += chunk.length
      if (size >= EXCERPT_BYTES) settle()
    })
    stream.once('end', () => settle())
    // This listener stays, because destroying the stream may raise another error.
    stream.on('error', settle)
  })
}

function answered(response: IncomingMessage, excerpt: Buffer): Outcome {
  const status = response.statusCode ?? 0
  const retryAfter = Number(response.headers['retry-after'])
  return {
    status_code: status,
    error:
      status >= 200 && status < 300
        ? null
        : status >= 300 && status < 400
          ? 'redirect'
          : 'http_status',
    response_excerpt: storableText(excerpt.toString('utf8')),
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
  }
}

function refused(failure: Error | undefined): Outcome {
  const code = codeOf(failure)
  const error = WORDS.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection_error'
  return { status_code: null, error, response_excerpt: null }
}

/** The innermost code: got wraps what the socket said. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const inner = 'cause' in error ? codeOf(error.cause) : ''
  const code = 'code' in error ? error.code : undefined
  return inner || (typeof code === 'string' ? code : '')
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^EBLOCKED$/, 'blocked_address'],
  [/TIMEDOUT|TIMEOUT/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(ECONNRESET|EPIPE)$/, 'connection_reset'],
  [/^(ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|EREFUSED|EBADNAME)$/, 'dns_error'],
  [/TLS|SSL|CERT|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO/, 'tls_error'],
]

const TIMEOUT_MS = 5000
const EXCERPT_BYTES = 4096

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
