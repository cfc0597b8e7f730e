import type { DuckDBConnection } from '@duckdb/node-api'
import { readChunks, readOne } from '../runtime/duckdb.ts'

/** The queries that remove rows of `row-list.ts`, and then choose those that are left. */

/** Deletes the traces that are not in the split their link keeps. Returns how many. */
export async function deleteBridgingTraces(connection: DuckDBConnection): Promise<number> {
  const result = await connection.run(
    `delete from traces where index in (${outsideSplit(TRACE_LINKS)})`,
  )
  return result.rowsChanged
}

/** Removes rows whose text is in another split, too, except those in the split it keeps. Returns how many. */
export function removeBridgingRows(connection: DuckDBConnection) {
  return remove(connection, outsideSplit(ROW_LINKS))
}

/** Removes all but the best of the rows with the same text; the first of equally good ones stays. */
export function removeDuplicates(connection: DuckDBConnection) {
  return remove(
    connection,
    `with repeated as (select hash from left_rows group by hash having count(*) > 1)
    select r.index from left_rows r semi join repeated using (hash)
      join traces t on t.index = r.trace_index
    qualify row_number() over (partition by r.hash order by t.quality desc nulls last, r.index) > 1`,
  )
}

/** Removes all rows but the first `max` by hash. Returns how many. */
export function removeBeyond(connection: DuckDBConnection, max: number) {
  return remove(connection, `select index from left_rows order by hash, index offset ${max}`)
}

/** Removes pairs from both ends of the order of their length ratios. Returns how many. */
export function removeEnds(connection: DuckDBConnection, { low, high }: Ends) {
  const ends = [`length_ratio, index limit ${low}`, `length_ratio desc, index desc limit ${high}`]
  const rows = ends.map((end) => `(select index from left_rows ${COMPARED} order by ${end})`)
  return remove(connection, rows.join(' union all '))
}

/** The length ratios of the pairs of attempts that are left, in ascending order. */
export async function readLengthRatios(connection: DuckDBConnection): Promise<Float64Array> {
  const [count] = await readOne<[bigint]>(connection, `select count(*) from left_rows ${COMPARED}`)
  const ratios = new Float64Array(Number(count))
  let filled = 0
  const query = `select length_ratio from left_rows ${COMPARED} order by length_ratio`
  for await (const chunk of readChunks<[number]>(connection, query)) {
    for (const [ratio] of chunk) ratios[filled++] = ratio
  }
  return ratios
}

/** Fills `chosen` with the rows that are left. */
export async function chooseRows(connection: DuckDBConnection) {
  await connection.run(`
    insert into chosen
    select row_number() over (order by split_index, index) - 1 as ordinal, index, trace_index,
      rejected_index, hash, split_index, tokens, messages, span_id, shard as made_shard, byte_offset as made_offset,
      length, dense_rank() over (partition by split_index order by shard) - 1 as shard,
      sum(length) over (partition by split_index, shard order by index) - length as byte_offset
    from left_rows`)
}

async function remove(connection: DuckDBConnection, rows: string) {
  const { rowsChanged } = await connection.run(`insert into gone ${rows}`)
  return rowsChanged
}

/**
 * The members of links that are not in the split their link keeps (see `settleTraces`). The first has the
 * least `place`.
 */
function outsideSplit(links: string) {
  return `
    with links as (${links}),
    torn as (select link from links group by link having min(split_index) <> max(split_index)),
    splits as (
      select link, split_index, count(*) filter (where in_parent) as before, count(*) as n,
        min(place) as least
      from links semi join torn using (link) group by link, split_index),
    kept as (
      select link, split_index from splits
      qualify row_number() over (partition by link order by before desc, n desc, least) = 1)
    select index from links join kept using (link) where links.split_index <> kept.split_index`
}

/** What ties traces together besides the task, which decides on their split. */
const TRACE_LINKS = `
  with used as (
    select index, trace_id, session_id, parent_trace_id, split_index,
      trace_id in (select trace_id from parent_rows) as in_parent
    from traces)
  select 'session ' || session_id as link, index, trace_id as place, split_index, in_parent from used
  where session_id is not null
  union all
  select 'source ' || parent_trace_id, index, trace_id, split_index, in_parent from used
  where parent_trace_id is not null
  union all
  select 'source ' || trace_id, index, trace_id, split_index, in_parent from used
  where trace_id in (select parent_trace_id from used)`

/** The same text ties rows together. */
const ROW_LINKS = `
  select r.hash as link, r.index, r.index as place, r.split_index,
    (t.trace_id, r.hash) in (select (trace_id, hash) from parent_rows) as in_parent
  from left_rows r join traces t on t.index = r.trace_index`

/** Selects pairs of attempts; a person's correction may have any length. */
const COMPARED = 'where length_ratio is not null'

interface Ends {
  readonly low: number
  readonly high: number
}
