import type { AttemptResult } from '../../sql/webhooks/delivery-attempts.ts'
import { storableText } from '../../sql/core/db.ts'
import type { GuardedAgents } from '../outbound/guarded-agent.ts'
import { findStatusFault, request } from '../outbound/request.ts'

/**
 * POSTs a body once and returns the outcome; never throws. A body counts as delivered when a 2xx status
 * comes within `TIMEOUT_MS` of the start, resolving and connecting included. The answer is kept up to
 * `EXCERPT_BYTES`; an answer that stalls or breaks after its status changes nothing.
 */
export async function postWebhook(
  agents: GuardedAgents,
  url: string,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<AttemptResult & { retryAfterSeconds?: number }> {
  const started = performance.now()
  const outcome = await request(agents, { url, headers, body, ...LIMITS })
  const duration_ms = Math.round(performance.now() - started)
  if (outcome.fault !== null) {
    return { duration_ms, status_code: null, error: outcome.fault, response_excerpt: null }
  }
  const retryAfter = Number(outcome.headers['retry-after'])
  return {
    duration_ms,
    status_code: outcome.status,
    error: findStatusFault(outcome.status),
    response_excerpt: storableText(outcome.body.toString('utf8')),
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
  }
}

const TIMEOUT_MS = 5000
const EXCERPT_BYTES = 4096
const LIMITS = { timeoutMs: TIMEOUT_MS, maxBytes: EXCERPT_BYTES }
