import type { Queryable } from './db.ts'
import { jsonText } from './db.ts'

/** Names a key: an API key's own, so that the keys of two callers never meet. */
export interface IdempotencyKey {
  readonly orgId: string
  readonly apiKeyId: string
  readonly key: string
}

/** What was done under a key; `status` is null while it is being done. */
export interface IdempotencyRow {
  fingerprint: Buffer | null
  status: number | null
  headers: Record<string, string> | null
  body: Buffer | null
}

/**
 * Takes a key for a request: one that is new, or whose answer is too old, or whose request died before
 * it had one. Otherwise `found` is what stands in the way.
 * @param fingerprint null until the body has been read
 */
export async function claimIdempotencyKey(
  sql: Queryable,
  { orgId, apiKeyId, key }: IdempotencyKey,
  claim: string,
  fingerprint: Uint8Array | null,
): Promise<{ requestId: string } | { found: IdempotencyRow }> {
  const [claimed] = await sql<{ request_id: string }[]>`
    insert into idempotency_keys as k
      (org_id, api_key_id, key, fingerprint, claim, claimed_until, request_id)
    values (${orgId}, ${apiKeyId}, ${key}, ${fingerprint}, ${claim}, ${leaseEnd(sql)}, ${claim})
    on conflict (org_id, api_key_id, key) do update set
      fingerprint = excluded.fingerprint, claim = excluded.claim,
      claimed_until = excluded.claimed_until,
      request_id = case when k.created_at < ${oldest(sql)} then excluded.request_id
        else k.request_id end,
      created_at = case when k.created_at < ${oldest(sql)} then now() else k.created_at end,
      status = null, headers = null, body = null
    where k.created_at < ${oldest(sql)} or (k.status is null and k.claimed_until < now()
      and coalesce(k.fingerprint = excluded.fingerprint, true))
    returning request_id`
  if (claimed) return { requestId: claimed.request_id }
  const [found] = await sql<IdempotencyRow[]>`
    select fingerprint, status, headers, body from idempotency_keys
    where org_id = ${orgId} and api_key_id = ${apiKeyId} and key = ${key}`
  // Without one, it was given up between the two statements.
  return found ? { found } : claimIdempotencyKey(sql, { orgId, apiKeyId, key }, claim, fingerprint)
}

/** Tells that the request of a claim is still being worked on. */
export async function renewIdempotencyClaim(sql: Queryable, key: IdempotencyKey, claim: string) {
  await sql`update idempotency_keys set claimed_until = ${leaseEnd(sql)} where ${held(sql, key, claim)}`
}

/** Keeps the answer for those who send the request again. */
export async function answerIdempotencyKey(
  sql: Queryable,
  key: IdempotencyKey,
  claim: string,
  answer: { fingerprint: Uint8Array; status: number; headers: object; body: Uint8Array },
) {
  await sql`
    update idempotency_keys set fingerprint = ${answer.fingerprint}, status = ${answer.status},
      headers = ${jsonText(answer.headers)}::text::jsonb, body = ${answer.body}
    where ${held(sql, key, claim)}`
}

/**
 * Ends a claim whose request may have had its effect: the same request, when it is sent again, finds the job that
 * was submitted. A late renewal does not bring the claim back.
 */
export async function endIdempotencyClaim(
  sql: Queryable,
  key: IdempotencyKey,
  claim: string,
  fingerprint: Uint8Array,
) {
  await sql`
    update idempotency_keys set fingerprint = ${fingerprint}, claim = gen_random_uuid(),
      claimed_until = now() - interval '1 second'
    where ${held(sql, key, claim)}`
}

/** Gives up a claim whose request had no effect, so that the key can be used again. */
export async function releaseIdempotencyKey(sql: Queryable, key: IdempotencyKey, claim: string) {
  await sql`delete from idempotency_keys where ${held(sql, key, claim)}`
}

/** Deletes at most `limit` keys that are too old to be answered from. Returns how many. */
export async function deleteOldIdempotencyKeys(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from idempotency_keys
    where (org_id, api_key_id, key) in (
      select org_id, api_key_id, key from idempotency_keys
      where created_at < ${oldest(sql)} order by created_at limit ${limit} for update skip locked)`
  return deleted.count
}

/** How often a claim is to be renewed. */
export const RENEW_SECONDS = 10

function held(sql: Queryable, { orgId, apiKeyId, key }: IdempotencyKey, claim: string) {
  return sql`org_id = ${orgId} and api_key_id = ${apiKeyId} and key = ${key}
    and claim = ${claim} and status is null`
}

/** A request that did not renew for this long has died with its process. */
function leaseEnd(sql: Queryable) {
  return sql`now() + ${3 * RENEW_SECONDS} * interval '1 second'`
}

function oldest(sql: Queryable) {
  return sql`now() - ${KEPT_HOURS} * interval '1 hour'`
}

const KEPT_HOURS = 24
