import { applyRepair } from '../../jobs/apply-repair.ts'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { RepairListRule } from '../../jobs/rules/manifests/repair-rules.ts'
import type { RepairFailure, RepairTally } from '../../jobs/rules/manifests/repair-tally.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

export interface RepairBatchRow {
  id: string
  project_id: string
  agent_name: string
  job_id: string
  old_manifest_id: string
  new_manifest_id: string
  /** The rules that were approved; null for all. */
  rule_indices: number[] | null
  /** All rules, by index. */
  rules: RepairListRule[]
  engine_version: string
  repaired_count: number
  skipped_count: number
  failed_count: number
  /** By index: the repaired traces that the rule was applied to. */
  rule_counts: Record<string, number>
  created_at: Date
  /** Null until all traces were gone through. */
  completed_at: Date | null
  /**
   * Null when the job has been forgotten, which that of an incomplete batch is not, and of a batch that came from
   * a backup: its `job_id` is the restore.
   */
  job_state: JobState | null
}

export type NewRepairBatch = Pick<
  RepairBatchRow,
  | 'id'
  | 'project_id'
  | 'job_id'
  | 'old_manifest_id'
  | 'new_manifest_id'
  | 'rule_indices'
  | 'rules'
  | 'engine_version'
> & { created_by: string }

export async function insertRepairBatch(sql: Queryable, orgId: string, batch: NewRepairBatch) {
  await sql`
    insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id, new_manifest_id,
      rule_indices, rules, engine_version, created_by)
    values (${orgId}, ${batch.project_id}, ${batch.id}, ${batch.job_id}, ${batch.old_manifest_id},
      ${batch.new_manifest_id}, ${batch.rule_indices}::int[], ${jsonText(batch.rules)}::text::jsonb,
      ${batch.engine_version}, ${batch.created_by})`
}

export async function findRepairBatch(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<RepairBatchRow[]>`
    select ${columns(sql)} from ${joined(sql)} where b.org_id = ${orgId} and b.id = ${id}`
  return row
}

/** Newest first. @param projectIds null for all projects of the organization */
export async function listRepairBatches(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  page: { limit: number; before?: AgeKey | undefined },
) {
  return sql<RepairBatchRow[]>`
    select ${columns(sql)} from ${joined(sql)}
    where b.org_id = ${orgId} ${inProjects(sql, sql`b.project_id`, projectIds)}
      ${isOlder(sql, sql`(b.created_at, b.id)`, page.before)}
    order by b.created_at desc, b.id desc limit ${page.limit}`
}

/** How many batches there are, counted no further than `limit`. */
export async function countRepairBatches(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  limit: number,
) {
  return countUpTo(
    sql,
    limit,
    sql`repair_batches b
    where b.org_id = ${orgId} ${inProjects(sql, sql`b.project_id`, projectIds)}`,
  )
}

/** Replaces what the traces so far came to. */
export async function updateRepairCounts(
  sql: Queryable,
  orgId: string,
  id: string,
  { repaired, skipped, failed, rules }: RepairTally,
) {
  await sql`
    update repair_batches set repaired_count = ${repaired}, skipped_count = ${skipped},
      failed_count = ${failed}, rule_counts = ${jsonText(rules)}::text::jsonb
    where org_id = ${orgId} and id = ${id}`
}

export async function completeRepairBatch(sql: Queryable, orgId: string, id: string) {
  await sql`
    update repair_batches set completed_at = coalesce(completed_at, now())
    where org_id = ${orgId} and id = ${id}`
}

export async function insertRepairFailures(
  sql: Queryable,
  orgId: string,
  batchId: string,
  failures: readonly RepairFailure[],
) {
  if (failures.length === 0) return
  await sql`
    insert into repair_failures (org_id, batch_id, trace_id, code)
    select ${orgId}, ${batchId}, trace_id, code
    from json_populate_recordset(null::repair_failures, ${jsonText(failures)}::text::json)
    on conflict do nothing`
}

/** By trace id. */
export async function listRepairFailures(sql: Queryable, orgId: string, batchId: string) {
  return sql<RepairFailure[]>`
    select trace_id, code from repair_failures
    where org_id = ${orgId} and batch_id = ${batchId} order by trace_id`
}

/** The first traces whose content for the new manifest a batch made, at most `limit`, by trace id. */
export async function listRepaired(sql: Queryable, orgId: string, batchId: string, limit: number) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from trace_revisions
    where org_id = ${orgId} and batch_id = ${batchId} order by trace_id limit ${limit}`
  return rows.map(({ trace_id }) => trace_id)
}

function joined(sql: Queryable) {
  return sql`repair_batches b
    join manifests m on m.org_id = b.org_id and m.id = b.new_manifest_id
    left join jobs j on j.org_id = b.org_id and j.id = b.job_id and j.kind = ${applyRepair.name}`
}

function columns(sql: Queryable) {
  return sql`b.id, b.project_id, m.agent_name, b.job_id, b.old_manifest_id, b.new_manifest_id,
    b.rule_indices, b.rules, b.engine_version, b.repaired_count, b.skipped_count, b.failed_count,
    b.rule_counts, b.created_at, b.completed_at, j.state as job_state`
}
