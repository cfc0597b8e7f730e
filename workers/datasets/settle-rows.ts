import type { DuckDBConnection } from '@duckdb/node-api'
import { balanceLengths } from '../../jobs/rules/dataset-pairs.ts'
import type { Recipe } from '../../jobs/rules/dataset-recipe.ts'
import { readChunks, readOne } from './duckdb.ts'

/** Adds to what was dropped for a reason. */
export type Drop = (reason: string, count?: number) => void

/**
 * Takes out the traces that would tie two splits together. Traces of one session, and a replay and its
 * source, belong together, but each has a side of its own (`dataset-split.ts`). Each such group keeps
 * the traces of one side: the one where most of its traces with a row in the parent version are, then
 * the one with the most, then the one of the least trace id. So no group is in two splits, no row
 * changes its split from version to version, and what is in stays in when others come.
 */
export async function settleTraces(connection: DuckDBConnection, drop: Drop) {
  const bridging = awayFromHome(LINKS)
  const { rowsChanged } = await connection.run(`delete from traces where no in (${bridging})`)
  drop('split.bridging', rowsChanged)
}

/** Decides which of the rows made stay, and where they stand. */
export async function settleRows(
  connection: DuckDBConnection,
  { options, filters, dataset_type: type }: Recipe,
  drop: Drop,
) {
  const takeOut = async (reason: string, rows: string) => {
    const { rowsChanged } = await connection.run(`insert into gone ${rows}`)
    drop(reason, rowsChanged)
  }
  await takeOut('split.bridging', awayFromHome(ROW_HASHES))
  if (options.dedupe === 'exact') await takeOut('duplicate', DUPLICATES)
  if (filters.max_rows !== null) {
    await takeOut(
      'max_rows',
      `select no from left_rows order by hash, no offset ${filters.max_rows}`,
    )
  }
  if (type === 'dpo') {
    const { low, high } = await readBalance(connection)
    const ends = [`length_ratio, no limit ${low}`, `length_ratio desc, no desc limit ${high}`]
    const rows = ends.map((end) => `(select no from left_rows ${COMPARED} order by ${end})`)
    await takeOut('length_balance', rows.join(' union all '))
  }
  await connection.run(CHOSEN)
}

/** Whether rows may be found not to stay after all are made, other than by being there twice. */
export function settlesMore({ filters, options, dataset_type: type }: Recipe) {
  return filters.max_rows !== null || options.rows === 'call' || type === 'dpo'
}

/** How many units are in two splits, or duplicates left: 0, or the version must not be used. */
export async function countLeaks(connection: DuckDBConnection, { options }: Recipe) {
  const [leaks] = await readOne<[bigint]>(connection, LEAKS)
  if (options.dedupe === 'none') return Number(leaks)
  const [twice] = await readOne<[bigint]>(
    connection,
    'select count(*) - count(distinct hash) from chosen',
  )
  return Number(leaks) + Number(twice)
}

async function readBalance(connection: DuckDBConnection) {
  const [count] = await readOne<[bigint]>(connection, `select count(*) from left_rows ${COMPARED}`)
  const ratios = new Float64Array(Number(count))
  let filled = 0
  const query = `select length_ratio from left_rows ${COMPARED} order by length_ratio`
  for await (const chunk of readChunks<[number]>(connection, query)) {
    for (const [ratio] of chunk) ratios[filled++] = ratio
  }
  return balanceLengths(ratios)
}

/** Pairs of attempts; what a person corrected may be as long as it is. */
const COMPARED = 'where length_ratio is not null'

/** What ties traces together beside the task, on which their side hangs: (link, no, side, in_parent). */
const LINKS = `
  with used as (
    select no, trace_id, session_id, parent_trace_id, side,
      trace_id in (select trace_id from parent_rows) as in_parent
    from traces)
  select 'session ' || session_id as link, no, side, in_parent from used where session_id is not null
  union all
  select 'source ' || parent_trace_id, no, side, in_parent from used where parent_trace_id is not null
  union all
  select 'source ' || trace_id, no, side, in_parent from used
  where trace_id in (select parent_trace_id from used)`

/** Rows that say the same. */
const ROW_HASHES = `
  select r.hash as link, r.no, r.side,
    (t.trace_id, r.hash) in (select (trace_id, hash) from parent_rows) as in_parent
  from left_rows r join traces t on t.no = r.trace_no`

/** Members of links that are not on the side their link keeps. */
const awayFromHome = (links: string) => `
  with links as (${links}),
  sides as (
    select link, side, count(*) filter (where in_parent) as before, count(*) as n, min(no) as least
    from links group by link, side),
  homes as (
    select link, side from sides
    qualify row_number() over (partition by link order by before desc, n desc, least) = 1)
  select no from links join homes using (link) where links.side <> homes.side`

/** All but the best of the rows that say the same; of equally good ones the first. */
const DUPLICATES = `
  select r.no from left_rows r join traces t on t.no = r.trace_no
  qualify row_number() over (partition by r.hash order by t.quality desc nulls last, r.no) > 1`

/** The rows that stay: their order, and where they stand in the files that hold nothing else. */
const CHOSEN = `
  create table chosen as
  select row_number() over (order by side, no) - 1 as ordinal, no, trace_no, rejected_no, hash, side,
    tokens, shard as made_shard, place as made_place, length,
    dense_rank() over (partition by side order by shard) - 1 as shard,
    sum(length) over (partition by side, shard order by no) - length as place
  from left_rows`

const LEAKS = `
  with sides as (
    select trace_no as no, side from chosen
    union
    select rejected_no, side from chosen where rejected_no is not null),
  used as (
    select trace_id, task_id, session_id, parent_trace_id, s.side from sides s join traces t using (no))
  select count(*) from (
    select 1 from used where task_id is not null group by task_id having count(distinct side) > 1
    union all
    select 1 from used where session_id is not null group by session_id having count(distinct side) > 1
    union all
    select 1 from used replay join used source on replay.parent_trace_id = source.trace_id
    where replay.side <> source.side
    union all
    select 1 from chosen group by hash having count(distinct side) > 1)`
