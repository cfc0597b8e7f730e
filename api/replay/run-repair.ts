import { randomUUIDv7 } from 'node:crypto'
import { applyRepair } from '../../jobs/apply-repair.ts'
import { COMPAT_ENGINE_VERSION } from '../../jobs/rules/manifests/compat-policy.ts'
import { hashRepairRules } from '../../jobs/rules/manifests/repair-rules.ts'
import type { RepairListRule } from '../../jobs/rules/manifests/repair-rules.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertRepairBatch } from '../../sql/manifests/repair-batches.ts'
import { admitJob } from '../admit-job.ts'
import type { ApiContext } from '../context.ts'
import type { Call } from '../endpoint.ts'
import { ApiError, badRequest } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { answerLongWork } from '../wait.ts'
import { findRepairPair } from './repair-pair.ts'
import type { NamedPair } from './repair-pair.ts'
import { readRepairBatch, viewRepairBatch } from './repair.ts'

/**
 * Repairs all traces of a manifest, and waits for it as long as the caller prefers.
 * @param approved indices of the rules that may be applied; null for all
 * @throws ApiError as `findRepairPair`; 400 for the index of no rule, 409 where the rules are not those
 * of `rules_hash`, 429 when as many repairs wait as the plan allows
 */
export async function runRepair(
  call: Call<undefined, undefined, RepairRequest>,
  approved: readonly number[] | null,
) {
  const { context, principal, body } = call
  const { id, job_id } = await admitRepair(context, principal, body, approved)
  return answerLongWork(call, job_id, 200, async () =>
    viewRepairBatch(await readRepairBatch(context.sql, principal.orgId, id)),
  )
}

async function admitRepair(
  context: ApiContext,
  principal: Principal,
  named: RepairRequest,
  approved: readonly number[] | null,
) {
  const { before, after, rules } = await findRepairPair(context, principal, named)
  requireRules(rules, named.rules_hash)
  const rule_indices = approved && indicesAmong(rules, approved)
  const { orgId, keyId: created_by } = principal
  const { project_id } = after
  const id = randomUUIDv7()
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    const submission = { projectId: project_id, resultRef: `/repair/${id}` }
    const payload = { batch_id: id }
    const job_id = await admitJob(context, tx, principal, applyRepair, payload, submission)
    await insertRepairBatch(tx, orgId, {
      id,
      project_id,
      job_id,
      old_manifest_id: before.id,
      new_manifest_id: after.id,
      rule_indices,
      rules,
      engine_version: COMPAT_ENGINE_VERSION,
      created_by,
    })
    return { id, job_id }
  })
}

function requireRules(rules: readonly RepairListRule[], hash: string | undefined) {
  if (hash === undefined || hash === hashRepairRules(rules)) return
  throw new ApiError(
    409,
    'rules_changed',
    'The rules are not those of this hash: preview them again',
  )
}

function indicesAmong(rules: readonly RepairListRule[], approved: readonly number[]) {
  const known = new Set(rules.map(({ rule_index }) => rule_index))
  const indices = [...new Set(approved)].sort((a, b) => a - b)
  const unknown = indices.find((index) => !known.has(index))
  if (unknown !== undefined) throw badRequest(`There is no rule of index ${unknown}`)
  return indices
}

interface RepairRequest extends NamedPair {
  readonly rules_hash?: string | undefined
}
