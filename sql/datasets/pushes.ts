import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import type { JobError } from '../jobs/jobs.ts'

/** A push with the state of its job. */
export interface PushRow {
  id: string
  version_id: string
  job_id: string
  state: JobState
  repo_id: string
  revision: string
  /** The repository is not to be read by strangers. */
  private: boolean
  create_pr: boolean
  commit_message: string | null
  hub_url: string
  commit_oid: string | null
  commit_url: string | null
  /** The card and the provenance file included; null before the push begins. */
  files_total: number | null
  files_done: number
  bytes_done: number
  error: JobError | null
  created_at: Date
}

export type NewPush = Pick<
  PushRow,
  | 'id'
  | 'version_id'
  | 'job_id'
  | 'repo_id'
  | 'revision'
  | 'private'
  | 'create_pr'
  | 'commit_message'
  | 'hub_url'
  | 'created_at'
> & { org_id: string; dataset_id: string }

/**
 * The caller gives the time, to the millisecond, because cursors of lists contain it.
 * @returns false when the version is not there any more
 */
export async function insertPush(tx: Transaction, push: NewPush) {
  const locked = await tx`
    select from dataset_versions where org_id = ${push.org_id} and id = ${push.version_id}
    for key share`
  if (locked.length === 0) return false
  await tx`insert into dataset_pushes ${tx(push)}`
  return true
}

export async function findPush(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<PushRow[]>`
    select ${columns(sql)} from ${withJob(sql)} where p.org_id = ${orgId} and p.id = ${id}`
  return row
}

export interface PushFilter {
  readonly datasetId: string
  readonly versionId?: string | undefined
}

/** Newest first. */
export async function listPushes(
  sql: Queryable,
  orgId: string,
  filter: PushFilter,
  page: { before?: AgeKey | undefined; offset: number; limit: number },
) {
  return sql<PushRow[]>`
    select ${columns(sql)} from ${withJob(sql)}
    where ${matching(sql, orgId, filter)} ${isOlder(sql, sql`(p.created_at, p.id)`, page.before)}
    order by p.created_at desc, p.id desc limit ${page.limit} offset ${page.offset}`
}

/** How many pushes match, counted no further than `limit`. */
export async function countPushes(
  sql: Queryable,
  orgId: string,
  filter: PushFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`dataset_pushes p where ${matching(sql, orgId, filter)}`)
}

/** How far a push is: files and bytes that the hub has. */
export interface PushProgress {
  total: number
  files: number
  bytes: number
}

export async function updatePushProgress(
  sql: Queryable,
  orgId: string,
  id: string,
  { total, files, bytes }: PushProgress,
) {
  await sql`
    update dataset_pushes set files_total = ${total}, files_done = ${files}, bytes_done = ${bytes}
    where org_id = ${orgId} and id = ${id}`
}

/** Stores the commit that ends a push. */
export async function setPushCommit(
  sql: Queryable,
  orgId: string,
  id: string,
  { oid, url }: { oid: string; url: string },
) {
  await sql`
    update dataset_pushes set commit_oid = ${oid}, commit_url = ${url}
    where org_id = ${orgId} and id = ${id}`
}

function matching(sql: Queryable, orgId: string, { datasetId, versionId }: PushFilter) {
  return sql`p.org_id = ${orgId} and p.dataset_id = ${datasetId}
    ${versionId === undefined ? sql`` : sql`and p.version_id = ${versionId}`}`
}

function withJob(sql: Queryable) {
  return sql`dataset_pushes p join jobs j on j.org_id = p.org_id and j.id = p.job_id`
}

function columns(sql: Queryable) {
  return sql`p.id, p.version_id, p.job_id, j.state, p.repo_id, p.revision, p.private, p.create_pr,
    p.commit_message, p.hub_url, p.commit_oid, p.commit_url, p.files_total, p.files_done,
    p.bytes_done, p.created_at, case when j.state = 'failed' then j.error end as error`
}
