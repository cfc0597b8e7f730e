import type { Queryable, Transaction } from '../core/db.ts'

/** A request for a check, known by the SHA-256 of what it asks. */
export interface CheckRequest {
  readonly orgId: string
  readonly fingerprint: Buffer
  /** The id of the idempotency key it was made under; null for none. */
  readonly requestId: string | null
}

export interface SubmittedCheck {
  readonly job_id: string
  /** Null for a dry run. */
  readonly check_id: string | null
}

/** Locks a request until the transaction ends: equal ones are submitted one at a time. */
export async function lockRequest(tx: Transaction, { orgId, fingerprint }: CheckRequest) {
  const key = `regression request ${orgId} ${fingerprint.toString('hex')}`
  await tx`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`
}

/**
 * What the same request has submitted before, as long as it is under way, or was made under the same
 * idempotency key, or is done and owed to a client that was told to ask again.
 * @param owedSince a report that was finished earlier is owed to nobody
 */
export async function findSubmitted(
  sql: Queryable,
  { orgId, fingerprint, requestId }: CheckRequest,
  owedSince: Date,
) {
  const [row] = await sql<SubmittedCheck[]>`
    select r.job_id, r.check_id
    from regression_requests r join jobs j on j.org_id = r.org_id and j.id = r.job_id
    where r.org_id = ${orgId} and r.fingerprint = ${fingerprint}
      and (j.state in ('queued', 'running') or j.request_id = ${requestId}::uuid
        or (r.is_owed and j.state = 'succeeded' and j.finished_at >= ${owedSince}))`
  return row
}

export async function upsertSubmitted(
  tx: Transaction,
  { orgId, fingerprint }: CheckRequest,
  { job_id, check_id }: SubmittedCheck,
) {
  await tx`
    insert into regression_requests (org_id, fingerprint, job_id, check_id)
    values (${orgId}, ${fingerprint}, ${job_id}, ${check_id})
    on conflict (org_id, fingerprint) do update
      set job_id = excluded.job_id, check_id = excluded.check_id, is_owed = false`
}

export async function updateOwed(sql: Queryable, orgId: string, jobId: string, isOwed: boolean) {
  await sql`
    update regression_requests set is_owed = ${isOwed}
    where org_id = ${orgId} and job_id = ${jobId} and is_owed <> ${isOwed}::boolean`
}
