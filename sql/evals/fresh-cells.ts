import { createHash } from 'node:crypto'
import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'

/** The traces of an agent that started on a day. */
export interface CellKey {
  readonly orgId: string
  readonly projectId: string
  readonly agentName: string
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string
}

/** Makes room, until the transaction ends, for the cells of a day as they come out of its scores. */
export async function openFreshCells(tx: Transaction) {
  await tx`
    create temporary table if not exists ${tx(FRESH_CELLS)}
      (like score_cells including defaults including indexes) on commit delete rows`
  await tx`
    create temporary table if not exists ${tx(FRESH_CLUSTERS)}
      (like score_cell_clusters including defaults including indexes) on commit delete rows`
}

/** Adds the fresh cells, which are of traces that the stored ones have not in them. */
export async function addFreshCells(tx: Transaction) {
  const cellColumns = tx(CELL_COLUMNS)
  await tx`
    with added as (
      insert into score_cell_clusters as c (org_id, cell_id, task, unit, n, sum)
      select org_id, cell_id, task, unit, n, sum from ${tx(FRESH_CLUSTERS)}
      ${addingToClusters(tx)}
      returning cell_id as id, xmax = 0 as is_new
    ), shared as (
      select id, count(*) filter (where is_new) as shared_clusters from added group by id
    )
    insert into score_cells as c (${cellColumns}, shared_clusters)
    select ${cellColumns}, coalesce(shared.shared_clusters, 0)
    from ${tx(FRESH_CELLS)} fresh left join shared using (id)
    ${addingToCells(tx)}`
}

/**
 * Puts the fresh cells of a day in the place of those stored. Most clusters of a day are the same every
 * time it is added up, and those are not written.
 */
export async function replaceCells(tx: Transaction, key: CellKey) {
  for (const part of partsOf(await countClusters(tx, key))) {
    await storeClusters(tx, key.orgId, part)
  }
  await tx`delete from score_cells where ${ofDay(tx, key)}`
  const cellColumns = tx(CELL_COLUMNS)
  await tx`
    insert into score_cells (${cellColumns}, shared_clusters)
    select ${cellColumns}, (
      select count(*) from ${tx(FRESH_CLUSTERS)} f where f.org_id = c.org_id and f.cell_id = c.id
    ) from ${tx(FRESH_CELLS)} c`
}

/** How many clusters each cell has, stored or fresh, whichever are more. */
async function countClusters(tx: Transaction, key: CellKey) {
  return tx<CellClusters[]>`
    select id, greatest(stored.clusters, fresh.clusters) as clusters
    from (
      select id, shared_clusters as clusters from score_cells
      where ${ofDay(tx, key)} and shared_clusters > 0
    ) stored full join (
      select cell_id as id, count(*) as clusters from ${tx(FRESH_CLUSTERS)} group by cell_id
    ) fresh using (id)
    order by id`
}

/** Cells with at most `PART_CLUSTERS` clusters together, or a single one with more. */
function partsOf(cells: readonly CellClusters[]) {
  const parts: number[][] = []
  let size = Infinity
  for (const { id, clusters } of cells) {
    if (size + clusters > PART_CLUSTERS) {
      parts.push([])
      size = 0
    }
    parts.at(-1)?.push(id)
    size += clusters
  }
  return parts
}

/** A full join: no plan for it takes more than linear time, however little the planner knows of them. */
async function storeClusters(tx: Transaction, orgId: string, cells: number[]) {
  const partOf = (c: Fragment) =>
    tx`${c}org_id = ${orgId} and ${c}cell_id = any(${cells}::bigint[])`
  const part = partOf(tx``)
  const isSame = tx`c.cell_id = d.cell_id and c.task = d.task and c.unit = d.unit`
  await tx`
    with difference as materialized (
      select cell_id, task, unit, fresh.n, fresh.sum, stored.n is null as is_new
      from (select * from ${tx(FRESH_CLUSTERS)} where ${part}) fresh
        full join (select * from score_cell_clusters where ${part}) stored using (cell_id, task, unit)
      where (fresh.n, fresh.sum) is distinct from (stored.n, stored.sum)
    ), changed as (
      update score_cell_clusters c set n = d.n, sum = d.sum from difference d
      where ${partOf(tx`c.`)} and ${isSame} and d.n is not null and not is_new
    ), gone as (
      delete from score_cell_clusters c using difference d
      where ${partOf(tx`c.`)} and ${isSame} and d.n is null
    )
    insert into score_cell_clusters (org_id, cell_id, task, unit, n, sum)
    select ${orgId}, cell_id, task, unit, n, sum from difference where is_new`
}

/** The condition that a row is of the day. */
export function ofDay(sql: Queryable, { orgId, projectId, agentName, day }: CellKey) {
  return sql`org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}
    and day = ${day}::date`
}

/** What an insertion of cells ends with that adds to those that are there. */
export function addingToCells(sql: Queryable) {
  return sql`
    on conflict (org_id, project_id, agent_name, manifest_id, manifest_hash, day, name, source, verdict)
    do update set n = c.n + excluded.n, passed = c.passed + excluded.passed,
      sum = c.sum + excluded.sum, sum_squares = c.sum_squares + excluded.sum_squares,
      min = least(c.min, excluded.min), max = greatest(c.max, excluded.max),
      histogram = array[${eachBin(sql, (bin) => sql`c.histogram[${bin + 1}::int] + excluded.histogram[${bin + 1}::int]`)}],
      lone_clusters = c.lone_clusters + excluded.lone_clusters, lone_ss = c.lone_ss + excluded.lone_ss,
      lone_sn = c.lone_sn + excluded.lone_sn, lone_nn = c.lone_nn + excluded.lone_nn,
      shared_clusters = c.shared_clusters + excluded.shared_clusters`
}

/** As `addingToCells`, of clusters. */
export function addingToClusters(sql: Queryable) {
  return sql`
    on conflict (org_id, cell_id, task, unit) do update
      set n = c.n + excluded.n, sum = c.sum + excluded.sum`
}

/** A list with what `each` says of each bin of a histogram. */
export function eachBin(sql: Queryable, each: (bin: number) => Fragment) {
  return Array.from(
    { length: HISTOGRAM_BINS },
    (_, bin) => sql`${bin ? sql`,` : sql``} ${each(bin)}`,
  )
}

interface CellClusters {
  id: number
  clusters: number
}

const CELL_COLUMNS =
  'id org_id project_id agent_name manifest_id manifest_hash day name source verdict n passed sum sum_squares min max histogram lone_clusters lone_ss lone_sn lone_nn'.split(
    ' ',
  )
/** Its name contains its columns: a session of a pooler, and this table with it, may outlive a release that adds one. */
export const FRESH_CELLS = `fresh_cells_${createHash('sha256').update(CELL_COLUMNS.join()).digest('hex').slice(0, 8)}`
export const FRESH_CLUSTERS = 'fresh_cell_clusters'
/** Clusters that one statement compares. */
const PART_CLUSTERS = 50_000
