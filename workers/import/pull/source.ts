import { readRetryAfter } from '../../../jobs/rules/core/retry-header.ts'
import { quoteForeign } from '../../../jobs/rules/core/quote-foreign.ts'
import type { Connection, ConnectionKeys } from '../../../jobs/rules/import/platforms.ts'
import { guardedFetch, NoAnswer } from '../../outbound/guarded-fetch.ts'
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
  const fetch = guardedFetch({
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
      return await fetch(url, {
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
  function refusalOf(response: Response, answer: Buffer) {
    const said = quoteForeign(sentenceIn(answer), { secrets, word: 'key', most: MAX_SAID })
    return new SourceRefused(
      response.status,
      `The platform answered ${response.status}${said && `: ${said}`}`,
      readRetryAfter(response.headers.get('retry-after'), now()),
    )
  }
  return {
    connection,
    bytesRead: () => bytes,
    async ask(request) {
      const response = await send(request)
      const answer = Buffer.from(await response.arrayBuffer())
      bytes += answer.length
      if (!response.ok) throw refusalOf(response, answer)
      return takeApart(answer, request.rows)
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
const MAX_ANSWER_BYTES = 64 << 20
/** Characters of what a platform says of a refusal. */
const MAX_SAID = 200
const MAX_SENTENCE_BYTES = 16 << 10
