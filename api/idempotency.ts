import type { Request } from '@hapi/hapi'
import { hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { openSecret, sealSecret } from '../jobs/rules/core/secret-box.ts'
import type { Sql } from '../sql/core/db.ts'
import {
  answerIdempotencyKey,
  claimIdempotencyKey,
  endIdempotencyClaim,
  releaseIdempotencyKey,
  RENEW_SECONDS,
  renewIdempotencyClaim,
} from '../sql/core/idempotency-keys.ts'
import type { IdempotencyKey, IdempotencyRow } from '../sql/core/idempotency-keys.ts'
import { findJobOfRequest } from '../sql/jobs/jobs.ts'
import type { ApiContext } from './context.ts'
import { isKeyed } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { ApiError, validationError } from './errors.ts'
import { openFingerprint } from './fingerprint.ts'
import { headerOf } from './header.ts'
import type { Caller } from './principal.ts'

/** An answer as it is kept. Its body is JSON, or null for none. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** The `Idempotency-Key` of a request; undefined where the operation honours none. @throws ApiError 422 */
export function readIdempotencyKey(request: Request, operation: Endpoint): string | undefined {
  if (!isKeyed(operation)) return undefined
  const key = headerOf(request, 'idempotency-key')
  if (key === undefined || /^[\x20-\x7e]{1,255}$/.test(key)) return key
  const message = 'must be 1 to 255 printable ASCII characters'
  throw validationError([{ field: 'header.idempotency-key', message }])
}

/**
 * Performs a request once for its `Idempotency-Key`. The same request within 24 hours gets the same answer;
 * while the first one is in progress, a repetition waits `WAIT_MS` for it. Errors are not kept. After a failure
 * of ours, and within 30 seconds when the process dies, the key is free for the same request, and a repetition
 * finds the submitted job, or is performed again where the operation itself attaches to that.
 * @param perform gets a context that names the request, and a stream to read in place of the body's
 * @throws ApiError 409 for a key of another request, and with `Retry-After` for one in progress
 */
export async function performOnce(
  { context, request, operation, caller: { principal, secret } }: KeyedRequest,
  key: string,
  perform: (context: ApiContext, stream: Readable | undefined) => Promise<Reply>,
): Promise<Reply> {
  const { sql, log } = context
  const named = { orgId: principal.orgId, apiKeyId: principal.keyId, key }
  const claim = randomUUID()
  const print = await openFingerprint(request)
  const claimed = await claimKey(sql, named, claim, print.known)
  if ('found' in claimed) return replay(claimed.found, await print.finish(), sealKey(secret))

  const renewing = setInterval(() => {
    renewIdempotencyClaim(sql, named, claim).catch(() => undefined)
  }, RENEW_SECONDS * 1000)
  try {
    const { requestId } = claimed
    const isRepeated = claim !== requestId && !operation.attaches
    const jobId = isRepeated && (await findJobOfRequest(sql, principal.orgId, requestId))
    const reply = jobId ? accepted(jobId) : await perform({ ...context, requestId }, print.stream)
    const fingerprint = await print.finish()
    await keep(sql, named, claim, { fingerprint, reply, key: sealKey(secret) }).catch((err) => {
      log.warn({ err, request_id: request.info.id }, 'an answer could not be kept for its key')
    })
    return reply
  } catch (error) {
    // What was read wholly and not refused may have been committed, and only its answer lost.
    const isRead = print.stream?.readableEnded !== false
    const ended =
      isRead && !(error instanceof ApiError)
        ? endIdempotencyClaim(sql, named, claim, await print.finish())
        : releaseIdempotencyKey(sql, named, claim)
    // When the database is away, the claim stays and expires.
    await ended.catch(() => undefined)
    throw error
  } finally {
    clearInterval(renewing)
  }
}

/** Claims the key for this request, or finds the answer of an earlier one. */
async function claimKey(
  sql: Sql,
  named: IdempotencyKey,
  claim: string,
  fingerprint: Buffer | null,
) {
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const claimed = await claimIdempotencyKey(sql, named, claim, fingerprint)
    if (!('found' in claimed) || claimed.found.status !== null) return claimed
    const { found } = claimed
    if (fingerprint && found.fingerprint && !found.fingerprint.equals(fingerprint)) throw reused()
    if (performance.now() > deadline) throw inUse()
    await setTimeout(LOOK_MS)
  }
}

/** The answer to a repetition when the process died after it submitted a job and before it answered. */
function accepted(jobId: string): Reply {
  const headers = { Location: `/api/v1/jobs/${jobId}`, 'Retry-After': '1' }
  return { status: 202, body: { job_id: jobId }, headers }
}

async function keep(
  sql: Sql,
  named: IdempotencyKey,
  claim: string,
  { fingerprint, reply, key }: { fingerprint: Buffer; reply: Reply; key: Buffer },
) {
  const { status, headers } = reply
  const body = sealSecret(key, randomBytes(12), JSON.stringify(reply.body ?? null))
  await answerIdempotencyKey(sql, named, claim, { fingerprint, status, headers, body })
}

function replay(found: IdempotencyRow, fingerprint: Buffer, key: Buffer): Reply {
  const { status, body, headers } = found
  if (!found.fingerprint?.equals(fingerprint)) throw reused()
  if (status === null || body === null) throw inUse()
  return {
    status,
    body: JSON.parse(unseal(body, key)),
    headers: { ...headers, 'Idempotent-Replayed': 'true' },
  }
}

/** Only the credential that got an answer can open it: not another session, nor the key behind it. */
function unseal(body: Buffer, key: Buffer): string {
  try {
    return openSecret([key], body)
  } catch {
    throw reused()
  }
}

/** Derived from the caller's secret, so that the database alone does not reveal kept answers. */
function sealKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'idempotent answer', 32))
}

const reused = () =>
  new ApiError(409, 'idempotency_key_reused', 'The Idempotency-Key belongs to another request')
const inUse = () =>
  new ApiError(409, 'idempotency_key_in_use', 'The first request of this key is still being done', {
    headers: { 'Retry-After': '1' },
  })

/** How long a request waits for an earlier one of its key. */
const WAIT_MS = 2000
const LOOK_MS = 50

interface KeyedRequest {
  readonly context: ApiContext
  readonly request: Request
  readonly operation: Endpoint
  readonly caller: Caller
}
