import type { DatasetType } from '../../jobs/rules/datasets/recipe.ts'
import { isKeyTaken } from '../core/db.ts'
import type { Queryable, Sql } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

export interface DatasetRow {
  id: string
  project_id: string
  name: string
  description: string | null
  dataset_type: DatasetType
  training_target_agent: string | null
  /** An identifier as hubs know them, for example `apache-2.0`, or `other`. */
  license: string
  created_at: Date
  /** The newest version that is ready, and its rows. */
  current_version_id: string | null
  row_count: number | null
  version_count: number
}

export type NewDataset = Omit<DatasetRow, 'current_version_id' | 'row_count' | 'version_count'> & {
  org_id: string
}

/**
 * False when the project has a dataset of that name. The caller gives the time, to the millisecond,
 * because cursors of lists contain it.
 */
export async function insertDataset(sql: Queryable, dataset: NewDataset) {
  const inserted = await sql`
    insert into datasets (org_id, project_id, id, name, description, dataset_type,
      training_target_agent, license, created_at)
    values (${dataset.org_id}, ${dataset.project_id}, ${dataset.id}, ${dataset.name},
      ${dataset.description}, ${dataset.dataset_type}, ${dataset.training_target_agent},
      ${dataset.license}, ${dataset.created_at})
    on conflict (org_id, project_id, name) do nothing`
  return inserted.count === 1
}

/** @param projectIds where to look; null looks in all projects of the organization */
export async function findDataset(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  id: string,
) {
  const [row] = await sql<DatasetRow[]>`
    select ${columns(sql)} from ${withCurrent(sql)}
    where d.org_id = ${orgId} and d.id = ${id} ${inProjects(sql, sql`d.project_id`, projectIds)}`
  return row
}

export async function findDatasetByName(
  sql: Queryable,
  orgId: string,
  projectId: string,
  name: string,
) {
  const [row] = await sql<{ id: string; name: string }[]>`
    select id, name from datasets
    where org_id = ${orgId} and project_id = ${projectId} and name = ${name}`
  return row
}

export interface DatasetFilter {
  readonly projectIds: readonly string[] | null
  readonly datasetType?: DatasetType | undefined
  readonly before?: AgeKey | undefined
  readonly offset: number
  readonly limit: number
}

/** Newest first. */
export async function listDatasets(sql: Queryable, orgId: string, filter: DatasetFilter) {
  return sql<DatasetRow[]>`
    select ${columns(sql)} from ${withCurrent(sql)}
    where ${matching(sql, orgId, filter)}
      ${isOlder(sql, sql`(d.created_at, d.id)`, filter.before)}
    order by d.created_at desc, d.id desc
    limit ${filter.limit} offset ${filter.offset}`
}

/** How many datasets match, counted no further than `limit`. */
export async function countDatasets(
  sql: Queryable,
  orgId: string,
  filter: DatasetFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`datasets d where ${matching(sql, orgId, filter)}`)
}

export type DatasetChange = Partial<
  Pick<DatasetRow, 'name' | 'description' | 'training_target_agent' | 'license'>
>

/** Changes the members that are given; false when another dataset of the project has the name. */
export async function updateDataset(sql: Sql, orgId: string, id: string, change: DatasetChange) {
  try {
    await sql`update datasets set ${sql({ ...change })} where org_id = ${orgId} and id = ${id}`
    return true
  } catch (error) {
    if (isKeyTaken(error)) return false
    throw error
  }
}

/** Deletes a dataset with its versions, whose rows go later, and returns where their files are kept. */
export async function deleteDataset(sql: Queryable, orgId: string, id: string) {
  const files = await sql<{ storage_key: string }[]>`
    select f.storage_key from dataset_files f
    join dataset_versions v on v.org_id = f.org_id and v.id = f.version_id
    where v.org_id = ${orgId} and v.dataset_id = ${id}`
  await sql`delete from datasets where org_id = ${orgId} and id = ${id}`
  return files.map(({ storage_key }) => storage_key)
}

function matching(sql: Queryable, orgId: string, { projectIds, datasetType }: DatasetFilter) {
  return sql`d.org_id = ${orgId} ${inProjects(sql, sql`d.project_id`, projectIds)}
    ${datasetType ? sql`and d.dataset_type = ${datasetType}` : sql``}`
}

function withCurrent(sql: Queryable) {
  return sql`datasets d
    left join lateral (
      select id, row_count from dataset_versions v
      where v.org_id = d.org_id and v.dataset_id = d.id and v.ready_at is not null
      order by version_number desc limit 1) current_version on true
    left join lateral (
      select count(*) as n from dataset_versions v
      where v.org_id = d.org_id and v.dataset_id = d.id) versions on true`
}

function columns(sql: Queryable) {
  return sql`d.id, d.project_id, d.name, d.description, d.dataset_type, d.training_target_agent,
    d.license, d.created_at, current_version.id as current_version_id, current_version.row_count,
    versions.n as version_count`
}
