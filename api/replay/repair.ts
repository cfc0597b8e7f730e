import Joi from 'joi'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import { hashRepairRules } from '../../jobs/rules/manifests/repair-rules.ts'
import type { RepairListRule } from '../../jobs/rules/manifests/repair-rules.ts'
import { listOf, text } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findRepairBatch } from '../../sql/manifests/repair-batches.ts'
import type { RepairBatchRow } from '../../sql/manifests/repair-batches.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'

const count = Joi.number().integer()

export const workStatuses = Joi.string().valid(
  'queued',
  'running',
  'completed',
  'failed',
  'canceled',
)

export const rulesHashField = text(128).description(
  'Of the preview: 409 when the rules are not those any more',
)

export const ruleFields = {
  rule_index: count.required().description('By which it is approved'),
  rule_type: Joi.string()
    .valid('rename_tool', 'rename_param', 'drop_param', 'add_default', 'coerce')
    .required(),
  component_name: Joi.string()
    .required()
    .description('The tool, as the old manifest has it, or the output contract'),
  details: Joi.object({
    from: Joi.string().allow(''),
    to: Joi.string().allow(''),
    param: Joi.string().allow(''),
    value: Joi.any(),
    type: Joi.string(),
  })
    .required()
    .label('RepairRuleDetails'),
  used_by: count.required().description('How many traces it was applied to'),
}

const batchFields = {
  batch_id: Joi.string().guid().required(),
  job_id: Joi.string().guid().required(),
  status: workStatuses.required(),
  agent_name: Joi.string().required(),
  old_manifest_id: Joi.string().guid().required(),
  new_manifest_id: Joi.string().guid().required(),
  approved_rule_indices: nullable(listOf(count)).description('Null: all rules'),
  rules_hash: Joi.string().required(),
  total_episodes: count
    .required()
    .description(
      'Traces that the rules may repair: the three counts together, of the traces so far while it runs',
    ),
  repaired_count: count.required(),
  skipped_count: count.required().description('They need a rule that was not approved'),
  failed_count: count.required(),
  rules_applied: listOf(Joi.object(ruleFields).label('AppliedRepairRule'))
    .required()
    .description(
      'The rules that at least one trace was repaired with; the provenance of a row has their indices',
    ),
  engine_version: Joi.string().required(),
  created_at: times.required(),
  completed_at: nullable(times),
}

export const repairBatchBody = Joi.object(batchFields).label('RepairBatch')

export const shownRepairBatchBody = Joi.object({
  ...batchFields,
  project_id: Joi.string().guid().required(),
  repaired_trace_ids: listOf(Joi.string())
    .required()
    .description(
      'The first 50 traces whose repaired content this batch stored last: read them with `revision`',
    ),
  failures: listOf(
    Joi.object({ trace_id: Joi.string().required(), code: Joi.string().required() }).label(
      'RepairFailure',
    ),
  )
    .required()
    .description('The first 1,000, for 90 days'),
}).label('ShownRepairBatch')

export function viewRepairBatch(batch: RepairBatchRow) {
  const { repaired_count, skipped_count, failed_count, rule_counts } = batch
  return {
    batch_id: batch.id,
    job_id: batch.job_id,
    status: batch.completed_at ? 'completed' : workStatus(batch.job_state),
    agent_name: batch.agent_name,
    old_manifest_id: batch.old_manifest_id,
    new_manifest_id: batch.new_manifest_id,
    approved_rule_indices: batch.rule_indices,
    rules_hash: hashRepairRules(batch.rules, batch.engine_version),
    total_episodes: repaired_count + skipped_count + failed_count,
    repaired_count,
    skipped_count,
    failed_count,
    rules_applied: batch.rules.flatMap((rule) => {
      const used_by = rule_counts[rule.rule_index]
      return used_by === undefined ? [] : [{ ...viewRule(rule), used_by }]
    }),
    engine_version: batch.engine_version,
    created_at: batch.created_at,
    completed_at: batch.completed_at,
  }
}

/** @throws ApiError 404 for a batch that does not exist */
export async function readRepairBatch(sql: Queryable, orgId: string, id: string) {
  const batch = await findRepairBatch(sql, orgId, id)
  if (!batch) throw notFound('Repair batch')
  return batch
}

/**
 * The status of what a job makes.
 * @param state null when the job has been forgotten
 */
export function workStatus(state: JobState | null) {
  switch (state) {
    case 'queued':
    case 'running':
    case 'canceled':
      return state
    case 'cancelling':
      return 'running'
    case 'succeeded':
      return 'completed'
    case 'failed':
    case null:
      return 'failed'
  }
}

function viewRule({ rule_index, rule_type, component_name, details }: RepairListRule) {
  return { rule_index, rule_type, component_name, details }
}
