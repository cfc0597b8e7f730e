import type { Filters } from '../../jobs/rules/datasets/filters.ts'
import { jsonText, onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

export const BATCH_STATUSES = ['pending', 'running', 'completed', 'canceled'] as const
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** A batch with what follows from its tasks and from the job that makes them. */
export interface BatchRow {
  id: string
  org_id: string
  project_id: string
  agent_name: string
  source_manifest_id: string | null
  /** Null only in a batch of links. */
  target_manifest_id: string | null
  mode: 'pull' | 'push'
  runner_url: string | null
  max_in_flight: number
  /** The job that makes the tasks; null in a batch of links. */
  job_id: string | null
  /** The job that sends the tasks of a push batch; null before it is prepared. */
  dispatch_job_id: string | null
  note: string | null
  is_linked: boolean
  /** Null while its tasks are being made, and in a batch of links. */
  prepared_at: Date | null
  paused_reason: string | null
  created_by: string | null
  created_at: Date
  /** Also when the job that made its tasks ended before it had. */
  canceled_at: Date | null
  expires_at: Date
  status: BatchStatus
  total: number
  leased: number
  completed: number
  failed: number
  skipped: number
  canceled: number
  wins: number
  losses: number
  ties: number
  /** Null when no comparison has a difference of scores. */
  mean_score_delta: number | null
}

export interface NewBatch {
  readonly id: string
  readonly org_id: string
  readonly project_id: string
  readonly agent_name: string
  readonly source_manifest_id: string | null
  readonly target_manifest_id: string
  /** Which traces: those named, each once, or else those that pass the filters. */
  readonly chosen: { readonly trace_ids: readonly string[] } | { readonly filters: Filters }
  readonly mode: 'pull' | 'push'
  readonly runner_url: string | null
  readonly max_in_flight: number
  readonly job_id: string
  readonly note: string | null
  readonly created_by: string
}

export async function insertBatch(sql: Queryable, batch: NewBatch) {
  const { chosen } = batch
  const traceIds = 'trace_ids' in chosen ? chosen.trace_ids : null
  const filters = 'filters' in chosen ? jsonText(chosen.filters) : null
  await sql`
    insert into replay_batches (org_id, project_id, id, agent_name, source_manifest_id,
      target_manifest_id, trace_ids, filters, mode, runner_url, max_in_flight, job_id, note,
      created_by, expires_at)
    values (${batch.org_id}, ${batch.project_id}, ${batch.id}, ${batch.agent_name},
      ${batch.source_manifest_id}, ${batch.target_manifest_id}, ${traceIds}::text[],
      ${filters}::text::jsonb, ${batch.mode}, ${batch.runner_url}, ${batch.max_in_flight},
      ${batch.job_id}, ${batch.note}, ${batch.created_by},
      clock_timestamp() + make_interval(days => ${BATCH_DAYS}))`
}

export async function findBatch(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<BatchRow[]>`
    select ${columns(sql)} from ${joined(sql)} where b.org_id = ${orgId} and b.id = ${id}`
  return row
}

export interface BatchFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  readonly status?: BatchStatus | undefined
}

/** Newest first. */
export async function listBatches(
  sql: Queryable,
  orgId: string,
  filter: BatchFilter,
  page: { limit: number; offset: number; before?: AgeKey | undefined },
) {
  return sql<BatchRow[]>`
    select ${columns(sql)} from ${joined(sql)}
    where ${matching(sql, orgId, filter)} ${isOlder(sql, sql`(b.created_at, b.id)`, page.before)}
    order by b.created_at desc, b.id desc limit ${page.limit} offset ${page.offset}`
}

/** How many batches match, counted no further than `limit`. */
export async function countBatches(
  sql: Queryable,
  orgId: string,
  filter: BatchFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`${joined(sql)} where ${matching(sql, orgId, filter)}`)
}

/**
 * How many batches have tasks to be done or made. Until the transaction ends, no other one counts those
 * of the organization.
 */
export async function countOpenBatches(tx: Transaction, orgId: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`replay batches ${orgId}`}, 0))`
  // A statement of its own: it has to see what was committed while the one above waited.
  const counted = await tx<{ n: number }[]>`
    select count(*)::int as n from ${joined(tx)}
    where b.org_id = ${orgId} and b.expires_at > now() and ${isUnfinished(tx, orgId)}
      and ${statusOf(tx)} in ('pending', 'running')`
  return onlyRow(counted).n
}

/** What the job that makes the tasks has to know. */
export interface UnpreparedBatch {
  readonly project_id: string
  readonly agent_name: string
  readonly source_manifest_id: string | null
  readonly mode: 'pull' | 'push'
  readonly trace_ids: string[] | null
  readonly filters: Filters | null
  readonly created_by: string | null
  readonly prepared_at: Date | null
  readonly canceled_at: Date | null
}

export async function findBatchToPrepare(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<UnpreparedBatch[]>`
    select project_id, agent_name, source_manifest_id, mode, trace_ids, filters,
      created_by, prepared_at, canceled_at
    from replay_batches where org_id = ${orgId} and id = ${id}`
  return row
}

/** Whether tasks may be added: nobody can cancel the batch before the transaction ends. */
export async function holdBatch(tx: Transaction, orgId: string, id: string) {
  const [row] = await tx`
    select from replay_batches
    where org_id = ${orgId} and id = ${id} and canceled_at is null and prepared_at is null
    for share`
  return row !== undefined
}

export async function setPrepared(tx: Transaction, orgId: string, id: string) {
  await tx`
    update replay_batches set prepared_at = clock_timestamp()
    where org_id = ${orgId} and id = ${id} and prepared_at is null`
}

/** Locks a batch, so that nothing else changes it before the transaction ends. */
export async function lockBatch(tx: Transaction, orgId: string, id: string) {
  await tx`
    select from replay_batches where org_id = ${orgId} and id = ${id} for no key update`
}

export async function setCanceled(tx: Transaction, orgId: string, id: string) {
  await tx`
    update replay_batches set canceled_at = clock_timestamp()
    where org_id = ${orgId} and id = ${id} and canceled_at is null`
}

function matching(sql: Queryable, orgId: string, { projectIds, agentName, status }: BatchFilter) {
  const isOpen = status === 'pending' || status === 'running'
  return sql`b.org_id = ${orgId} ${inProjects(sql, sql`b.project_id`, projectIds)}
    ${agentName === undefined ? sql`` : sql`and b.agent_name = ${agentName}`}
    ${isOpen ? sql`and ${isUnfinished(sql, orgId)}` : sql``}
    ${status ? sql`and ${statusOf(sql)} = ${status}` : sql``}`
}

/** Leaves few batches, those that may be pending or running, by indexes that hold only these. */
function isUnfinished(sql: Queryable, orgId: string) {
  return sql`b.id in (
    select batch_id from replay_tallies where org_id = ${orgId} and is_open
    union all
    select id from replay_batches
    where org_id = ${orgId} and prepared_at is null and canceled_at is null and not is_linked)`
}

function joined(sql: Queryable) {
  return sql`replay_batches b
    left join replay_tallies y on y.org_id = b.org_id and y.batch_id = b.id
    left join jobs j on j.org_id = b.org_id and j.id = b.job_id`
}

/** A batch whose job ended before it had made all tasks is canceled, until that job is retried. */
function statusOf(sql: Queryable) {
  return sql`case
    when ${canceledAt(sql)} is not null then 'canceled'
    when b.prepared_at is null and not b.is_linked then 'pending'
    when y.is_open is not true then 'completed'
    when y.is_started then 'running'
    else 'pending' end`
}

function canceledAt(sql: Queryable) {
  return sql`coalesce(b.canceled_at, case when b.prepared_at is null then j.finished_at end)`
}

function columns(sql: Queryable) {
  return sql`b.id, b.org_id, b.project_id, b.agent_name, b.source_manifest_id, b.target_manifest_id,
    b.mode, b.runner_url, b.max_in_flight, b.job_id, b.dispatch_job_id, b.note,
    b.is_linked, b.prepared_at, b.paused_reason, b.created_by, b.created_at, ${canceledAt(sql)} as canceled_at, b.expires_at,
    ${statusOf(sql)} as status,
    coalesce(y.total, 0) as total, coalesce(y.completed, 0) as completed,
    coalesce(y.failed, 0) as failed, coalesce(y.skipped, 0) as skipped,
    coalesce(y.canceled, 0) as canceled, coalesce(y.wins, 0) as wins,
    coalesce(y.losses, 0) as losses, coalesce(y.ties, 0) as ties,
    (y.delta_sum / nullif(y.deltas, 0))::float8 as mean_score_delta,
    (select count(*)::int from replay_tasks k
      where k.org_id = b.org_id and k.batch_id = b.id and k.status = 'leased') as leased`
}

/** How long the tasks of a batch can be done. */
export const BATCH_DAYS = 30
