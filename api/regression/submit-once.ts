import { createHash, randomUUIDv7 } from 'node:crypto'
import type { Transaction } from '../../sql/core/db.ts'
import { findSubmitted, lockRequest, upsertSubmitted } from '../../sql/regression/check-requests.ts'
import type { SubmittedCheck } from '../../sql/regression/check-requests.ts'
import { insertCheck } from '../../sql/regression/checks.ts'
import { charge } from '../quota.ts'
import { submitCheck } from './check-request.ts'
import type { CheckCall, Compared } from './check-request.ts'

/**
 * Submits a check and charges it, unless the same request has one under way, or one whose report it was
 * told to come back for: then that one.
 */
export async function submitOnce(call: CheckCall, compared: Compared): Promise<SubmittedCheck> {
  const { context, principal, query } = call
  const { requestId = null } = context
  const request = { orgId: principal.orgId, fingerprint: fingerprintOf(call, compared), requestId }
  const owedSince = new Date(context.now().getTime() - OWED_MS)
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    await lockRequest(tx, request)
    const known = await findSubmitted(tx, request, owedSince)
    if (known) return known
    const check_id = query.dry_run ? null : randomUUIDv7()
    const job_id = await submitCheck(call, tx, compared, check_id)
    await upsertSubmitted(tx, request, { job_id, check_id })
    if (check_id === null) return { job_id, check_id }
    await keepCheck(tx, call, compared, { job_id, check_id })
    await charge(context, tx, principal, 'regression_checks', 1)
    return { job_id, check_id }
  })
}

async function keepCheck(
  tx: Transaction,
  { context, principal, body }: CheckCall,
  { candidate, baseline }: Compared,
  { job_id, check_id }: { job_id: string; check_id: string },
) {
  await insertCheck(tx, principal.orgId, {
    id: check_id,
    project_id: candidate.project_id,
    agent_name: candidate.agent_name,
    candidate_manifest_id: candidate.id,
    baseline_manifest_id: baseline?.id ?? null,
    job_id,
    trace_window_days: body.trace_window_days,
    source: body.source ?? null,
    pr_context: body.pr_context ?? null,
    created_at: context.now(),
  })
}

function fingerprintOf({ query, body }: CheckCall, { candidate, baseline }: Compared) {
  // A first run makes its candidate the default baseline of the next one.
  const byDefault = baseline?.id === candidate.id ? undefined : baseline?.id
  const asked = {
    candidate: candidate.id,
    baseline: body.baseline_manifest_id ?? byDefault ?? null,
    window: body.trace_window_days,
    source: body.source ?? null,
    pr_context: query.dry_run ? null : (body.pr_context ?? null),
    dry_run: query.dry_run,
  }
  return createHash('sha256').update(JSON.stringify(asked)).digest()
}

/** How long a finished report waits for the client that was told to come back for it. */
const OWED_MS = 3_600_000
