import { readRetryAfter } from '../../../jobs/rules/core/retry-header.ts'
import { quoteForeign } from '../../../jobs/rules/core/quote-foreign.ts'
import type { Connection, ConnectionKeys } from '../../../jobs/rules/import/platforms.ts'
import { guardedRequest, NoAnswer } from '../../outbound/guarded-fetch.ts'
import type { GuardedAnswer } from '../../outbound/guarded-fetch.ts'
import type { Run } from '../../runtime/handler.ts'
import { SourceRefused } from './platform.ts'
import type { Platform, Source, SourceRequest } from './platform.ts'
import { takeApart } from './take-apart.ts'

export interface OpenSource extends Source {
  /** Bytes of all answers so far. */
  bytesRead(): number
}

/** Opens a platform for one run. Only public addresses and allowed networks are reached, each time anew. */
export function openSource(
  { outbound, signal, now }: Pick<Run, 'outbound' | 'signal' | 'now'>,
  platform: Pick<Platform, 'headers'>,
  connection: Connection,
  keys: ConnectionKeys,
): OpenSource {
  const sendGuarded = guardedRequest({
    agentsFor: () => outbound.agents,
    signal,
    idleMs: ANSWER_MS,
    maxBytes: MAX_ANSWER_BYTES,
  })
  const secrets = secretsOf(keys)
  let bytes = 0

  async function send({ path, query, body }: SourceRequest) {
    const url = `${connection.base_url}${path}${queryOf(query)}`
    const deadline = AbortSignal.timeout(ANSWER_MS)
    try {
      return await sendGuarded(url, {
        method: body ? 'POST' : 'GET',
        headers: {
          accept: 'application/json',
          'user-agent': 'Service-Import/1.0',
          ...(body && { 'content-type': 'application/json' }),
          ...platform.headers(connection, keys),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: deadline,
      })
    } catch (error) {
      signal.throwIfAborted()
      if (!deadline.aborted) throw error
      throw new NoAnswer(body ? 'POST' : 'GET', new URL(url).hostname, 'timeout')
    }
  }
  function refusalOf(
    { status, headers, body }: GuardedAnswer,
    { path, body: sent }: SourceRequest,
  ) {
    const target = targetOf(headers['location'])
    const quoted = target ? `it redirects to ${target}` : sentenceIn(body)
    const said = quoteForeign(quoted, { secrets, word: 'key', most: MAX_SAID })
    return new SourceRefused(
      status,
      `The platform answered ${status} to ${sent ? 'POST' : 'GET'} ${path}${said && `: ${said}`}`,
      readRetryAfter(headers['retry-after'] ?? null, now()),
    )
  }
  return {
    connection,
    bytesRead: () => bytes,
    async ask(request) {
      const answer = await send(request)
      bytes += answer.body.length
      if (answer.status < 200 || answer.status > 299) throw refusalOf(answer, request)
      return takeApart(answer.body, request.rows)
    },
  }
}

/** The keys, and what HTTP's Basic makes of a pair of them. */
function secretsOf(keys: ConnectionKeys): string[] {
  const { public_key, secret_key } = keys
  const pair = public_key !== undefined && secret_key !== undefined
  const each = Object.values(keys).filter((key) => key !== undefined)
  return pair ? [`${public_key}:${secret_key}`, ...each] : each
}

function queryOf(query: SourceRequest['query'] = {}) {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value ?? []].flat()) parameters.append(name, String(each))
  }
  return parameters.size > 0 ? `?${parameters.toString()}` : ''
}

/** Where a redirect leads, without its query, which may hold anything; undefined for none. */
function targetOf(location: string | undefined) {
  if (location === undefined || !URL.canParse(location)) return undefined
  const { origin, pathname } = new URL(location)
  return `${origin}${pathname}`
}

/** The sentence of a JSON error, wherever platforms have it; else the beginning of the answer. */
function sentenceIn(answer: Buffer): string {
  const text = answer.subarray(0, MAX_SENTENCE_BYTES).toString()
  try {
    const { message, detail, error } = Object(JSON.parse(text)) as Record<string, unknown>
    const said = [message, detail, error].find((each) => typeof each === 'string')
    return said ?? text
  } catch {
    return text
  }
}

/** From the start of a request to the last byte of its answer. */
const ANSWER_MS = 30_000
/** Twice the longest record; a page that is larger is asked for smaller. Each pull has one in memory. */
const MAX_ANSWER_BYTES = 32 << 20
/** Characters of what a platform says of a refusal. */
const MAX_SAID = 200
const MAX_SENTENCE_BYTES = 16 << 10
