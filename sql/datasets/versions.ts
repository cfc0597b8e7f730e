import type { Composition, VersionPolicy } from '../../jobs/rules/datasets/card-facts.ts'
import type { RowLengths } from '../../jobs/rules/datasets/length-bins.ts'
import { completeStored } from '../../jobs/rules/datasets/recipe.ts'
import type { DatasetType, Recipe, Split, StoredRecipe } from '../../jobs/rules/datasets/recipe.ts'
import type { VersionRedaction } from '../../jobs/rules/datasets/redaction.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import type { JobError } from '../jobs/jobs.ts'
import type { NearDuplicate } from './near-duplicates.ts'

export type VersionStatus = 'queued' | 'building' | 'ready' | 'failed' | 'canceled'

/** A version with the state of the job that builds it. */
export interface VersionRow {
  id: string
  dataset_id: string
  dataset_name: string
  dataset_type: DatasetType
  project_id: string
  version_number: number
  status: VersionStatus
  job_id: string
  ready_at: Date | null
  recipe: Recipe
  filter_hash: string
  parent_version_id: string | null
  created_by: string | null
  created_at: Date
  manifest_ids: string[]
  content_hash: string | null
  row_count: number | null
  split_counts: Record<Split, number> | null
  dropped_counts: Record<string, number> | null
  /** What rows do not tell of their traces, by word: how many messages it concerns. */
  losses: Record<string, number>
  warnings: VersionWarning[]
  /** It came from a backup, which has neither its rows nor its files. */
  restored: boolean
  token_estimate: number | null
  policy: VersionPolicy | null
  /** What was taken out of the rows; null where nothing was to be, and before the version is ready. */
  redaction: VersionRedaction | null
  /** Null before the version is ready, and where the release before built it; so are the lengths. */
  funnel: BuildFunnel | null
  lengths: RowLengths | null
  /** The JSONL files of each split, and of `all` splits in their order, described as one stream each. */
  streams: Record<string, FileFacts>
  error: JobError | null
}

/** What was left after each step of a build. */
export interface BuildFunnel {
  /** Traces of the project. */
  traces: number
  /** Traces that pass the filters. */
  passed: number
  /** Traces that may give rows of the type. */
  eligible: number
  rows_made: number
}

/** What is doubtful about the rows of a version. */
export interface VersionWarning {
  code: string
  message: string
}

export interface FileFacts {
  size_bytes: number
  /** Hexadecimal. */
  sha256: string
}

export interface FileRow extends FileFacts {
  format: 'jsonl' | 'parquet'
  split: Split
  shard: number
  /** Name of the file among the others, for example `data/train-00000-of-00004.parquet`. */
  path: string
  storage_key: string
  row_count: number
}

/**
 * Inserts a version under the next number of its dataset, its parent being the newest ready one.
 * @returns false when the dataset is not there any more
 */
export async function insertVersion(
  tx: Transaction,
  version: Pick<
    VersionRow,
    'id' | 'dataset_id' | 'job_id' | 'recipe' | 'filter_hash' | 'created_by'
  > & {
    org_id: string
  },
) {
  // The lock makes builds of one dataset take their numbers one after the other.
  const locked = await tx`
    select from datasets where org_id = ${version.org_id} and id = ${version.dataset_id} for update`
  if (locked.length === 0) return false
  await tx`
    insert into dataset_versions (org_id, dataset_id, id, job_id, recipe, filter_hash, created_by,
      manifest_ids, version_number, parent_version_id)
    select ${version.org_id}, ${version.dataset_id}, ${version.id}, ${version.job_id},
      ${jsonText(version.recipe)}::text::jsonb, ${version.filter_hash}, ${version.created_by},
      ${version.recipe.filters.manifest_ids}::uuid[],
      coalesce(max(version_number), 0) + 1,
      (array_agg(id order by version_number desc) filter (where ready_at is not null))[1]
    from dataset_versions where org_id = ${version.org_id} and dataset_id = ${version.dataset_id}`
  return true
}

/** A reference to a version: its id, its number, or the newest one that is ready, else the newest. */
export type VersionReference = { id: string } | { number: number } | 'latest'

export async function findVersion(
  sql: Queryable,
  orgId: string,
  datasetId: string,
  reference: VersionReference,
) {
  const [row] = await sql<StoredVersion[]>`
    select ${columns(sql)} from ${withJob(sql)}
    where v.org_id = ${orgId} and v.dataset_id = ${datasetId}
      ${
        reference === 'latest'
          ? sql`order by v.ready_at is null, v.version_number desc limit 1`
          : 'id' in reference
            ? sql`and v.id = ${reference.id}`
            : sql`and v.version_number = ${reference.number}`
      }`
  return row && complete(row)
}

/** Finds a version by its id alone, for the worker. */
export async function findVersionToBuild(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<StoredVersion[]>`
    select ${columns(sql)} from ${withJob(sql)} where v.org_id = ${orgId} and v.id = ${id}`
  return row && complete(row)
}

/** Newest first; `before` is a version number. */
export async function listVersions(
  sql: Queryable,
  orgId: string,
  datasetId: string,
  page: { before?: number | undefined; offset: number; limit: number },
) {
  const rows = await sql<StoredVersion[]>`
    select ${columns(sql)} from ${withJob(sql)}
    where v.org_id = ${orgId} and v.dataset_id = ${datasetId}
      ${page.before === undefined ? sql`` : sql`and v.version_number < ${page.before}`}
    order by v.version_number desc limit ${page.limit} offset ${page.offset}`
  return rows.map(complete)
}

/** Unfinished jobs that build or push a dataset's versions; a restore is none of them. */
export async function listUnfinished(sql: Queryable, orgId: string, datasetId: string) {
  const rows = await sql<{ id: string }[]>`
    select j.id from dataset_versions v
    left join dataset_pushes p on p.org_id = v.org_id and p.version_id = v.id
    join jobs j on j.org_id = v.org_id and j.id in (v.job_id, p.job_id)
    where v.org_id = ${orgId} and v.dataset_id = ${datasetId} and j.finished_at is null
      and not v.restored`
  return rows.map(({ id }) => id)
}

/** How many of the versions, in the order given, have no more than `maxFiles` files together. */
export async function countFitting(
  sql: Queryable,
  orgId: string,
  versionIds: readonly string[],
  maxFiles: number,
) {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from (
      select sum(files) over (order by place) as together
      from unnest(${versionIds}::uuid[]) with ordinality as v (id, place), lateral (
        select count(*) as files from dataset_files
        where org_id = ${orgId} and version_id = v.id
      ) as counted
    ) as summed
    where together <= ${maxFiles}`
  return row.n
}

/** In the order of the rows. */
export async function listFiles(sql: Queryable, orgId: string, versionIds: readonly string[]) {
  return sql<(FileRow & { version_id: string })[]>`
    select version_id, format, split, shard, path, storage_key, row_count, size_bytes, sha256
    from dataset_files
    where org_id = ${orgId} and version_id = any(${versionIds}::uuid[])
    order by version_id, format, array_position('{train,validation,test}', split), shard`
}

export type ReadyFacts = Required<
  Pick<VersionRow, 'manifest_ids' | 'token_estimate' | 'streams' | 'losses' | 'warnings'>
> & {
  content_hash: string
  row_count: number
  split_counts: Record<Split, number>
  dropped_counts: Record<string, number>
  token_estimate: number
  policy: VersionPolicy
  redaction: VersionRedaction | null
  funnel: BuildFunnel
  lengths: RowLengths
  near_duplicates: readonly NearDuplicate[]
  composition: Composition
  /** How many traces of the rows came in which month, by its first day. */
  trace_months: Readonly<Record<string, number>>
}

/**
 * Makes a version ready, with its files. What must happen once with that, such as charging its rows
 * to a quota, belongs into the same transaction. False when the version is gone or was ready before.
 */
export async function publishVersion(
  tx: Transaction,
  orgId: string,
  id: string,
  facts: ReadyFacts,
  files: readonly FileRow[],
) {
  const updated = await tx`
    update dataset_versions set ready_at = now(), manifest_ids = ${facts.manifest_ids}::uuid[],
      content_hash = ${facts.content_hash}, row_count = ${facts.row_count},
      split_counts = ${jsonText(facts.split_counts)}::text::jsonb,
      dropped_counts = ${jsonText(facts.dropped_counts)}::text::jsonb,
      token_estimate = ${facts.token_estimate}, policy = ${jsonText(facts.policy)}::text::jsonb,
      streams = ${jsonText(facts.streams)}::text::jsonb,
      losses = ${jsonText(facts.losses)}::text::jsonb,
      warnings = ${jsonText(facts.warnings)}::text::jsonb,
      redaction = ${facts.redaction && jsonText(facts.redaction)}::text::jsonb,
      near_duplicates = ${jsonText(facts.near_duplicates)}::text::jsonb,
      composition = ${jsonText(facts.composition)}::text::jsonb,
      trace_months = ${jsonText(facts.trace_months)}::text::jsonb,
      funnel = ${jsonText(facts.funnel)}::text::jsonb, lengths = ${jsonText(facts.lengths)}::text::jsonb
    where org_id = ${orgId} and id = ${id} and ready_at is null`
  if (updated.count === 0) return false
  // One parameter for all: a statement has at most 65,535.
  await tx`
    insert into dataset_files (org_id, version_id, format, split, shard, path, storage_key, row_count,
      size_bytes, sha256)
    select ${orgId}, ${id}, f.*
    from jsonb_to_recordset(${jsonText(files)}::text::jsonb) as f (format text, split text, shard int, path text,
      storage_key text, row_count int8, size_bytes int8, sha256 text)`
  return true
}

type StoredVersion = Omit<VersionRow, 'recipe'> & { readonly recipe: StoredRecipe }

/** A row of a version whose recipe has all that this release knows. */
export function complete<Row extends { readonly recipe: StoredRecipe }>(row: Row) {
  return { ...row, recipe: completeStored(row.recipe) }
}

function withJob(sql: Queryable) {
  return sql`dataset_versions v
    join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
    join jobs j on j.org_id = v.org_id and j.id = v.job_id`
}

function columns(sql: Queryable) {
  return sql`v.id, v.dataset_id, d.name as dataset_name, d.dataset_type, d.project_id, v.version_number, v.job_id, v.ready_at, v.recipe,
    v.filter_hash, v.parent_version_id, v.created_by, v.created_at, v.manifest_ids, v.content_hash,
    v.row_count, v.split_counts, v.dropped_counts, v.losses, v.warnings, v.token_estimate, v.policy,
    v.redaction, v.funnel, v.lengths, v.streams, v.restored,
    case when v.ready_at is not null then 'ready'
      when j.state in ('queued', 'failed', 'canceled') then j.state
      else 'building' end as status,
    case when v.ready_at is null and j.state = 'failed' then j.error end as error`
}
