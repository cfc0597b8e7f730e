import type { DuckDBConnection } from '@duckdb/node-api'
import { SIGNATURE_BINS } from '../../jobs/rules/datasets/signature.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { NearDuplicate } from '../../sql/datasets/near-duplicates.ts'
import { quoted, readChunks, readOne } from '../runtime/duckdb.ts'
import { nearPath } from './near-search.ts'
import type { RankedRows } from './near-search.ts'

/** The queries about the rows of `row-list.ts` that are near to others. */

/**
 * The rows that are left, the best first: those of the parent version, then by quality, then in the order
 * in which they were made, which is that of their traces. Takes 9 bytes a row.
 */
export async function readRanks(connection: DuckDBConnection): Promise<RankedRows> {
  const [n] = await readOne<[bigint]>(connection, 'select count(*) from left_rows')
  const count = Number(n)
  const rows = new Uint32Array(count)
  const traces = new Uint32Array(count)
  const splits = new Uint8Array(count)
  let rank = 0
  for await (const chunk of readChunks<[number, number, number]>(connection, RANKS)) {
    for (const [row, trace, split] of chunk) {
      rows[rank] = row
      traces[rank] = trace
      splits[rank++] = split
    }
  }
  return { rows, traces, splits }
}

/** Fills the table `near` with what the search found. */
export async function insertNear(connection: DuckDBConnection, folder: string) {
  await connection.run(
    `copy near from ${quoted(nearPath(folder))} (format csv, header false, auto_detect false)`,
  )
}

/** Removes the rows that are near to a better one that stays. Returns how many, by the split of that one. */
export async function removeNear(connection: DuckDBConnection) {
  const [inSplit, inOther] = await readOne<[bigint, bigint]>(connection, LEFT_OUT)
  await connection.run('insert into gone select index from near where replaces')
  return { inSplit: Number(inSplit), inOther: Number(inOther) }
}

/** Counts the near-duplicates that were found and have both rows chosen. */
export async function countNearLeaks(connection: DuckDBConnection) {
  const query = `
    select count(*) from near
    semi join chosen using (index) semi join chosen better on better.index = near.better`
  const [leaks] = await readOne<[bigint]>(connection, query)
  return Number(leaks)
}

/** The first rows, in the order in which they were made, that were left out for a near one that is chosen. */
export async function listNearSamples(connection: DuckDBConnection): Promise<NearDuplicate[]> {
  const samples: NearDuplicate[] = []
  for await (const chunk of readChunks<Sample>(connection, SAMPLES)) {
    for (const [trace_id, split, keptTrace, keptSplit, ordinal, equal] of chunk) {
      const kept = { trace_id: keptTrace, split: splitAt(keptSplit), ordinal: Number(ordinal) }
      const row = { trace_id, split: splitAt(split) }
      samples.push({ row, kept, similarity: equal / SIGNATURE_BINS })
    }
  }
  return samples
}

function splitAt(index: number) {
  return SPLITS[index] as Split
}

const RANKS = `
  select r.index, r.trace_index, r.split_index
  from left_rows r join traces t on t.index = r.trace_index
  order by (t.trace_id, r.hash) in (select (trace_id, hash) from parent_rows) desc,
    t.quality desc nulls last, r.index`

const LEFT_OUT = `
  select count(*) filter (where r.split_index = b.split_index),
    count(*) filter (where r.split_index <> b.split_index)
  from near join rows r using (index) join rows b on b.index = near.better
  where near.replaces`

const SAMPLE_COUNT = 1000
const SAMPLES = `
  select t.trace_id, r.split_index, kept_trace.trace_id, kept.split_index, kept.ordinal, near.equal_bins
  from near join rows r using (index) join traces t on t.index = r.trace_index
    join chosen kept on kept.index = near.better
    join traces kept_trace on kept_trace.index = kept.trace_index
  where near.replaces order by near.index limit ${SAMPLE_COUNT}`

type Sample = [
  traceId: string,
  split: number,
  keptTraceId: string,
  keptSplit: number,
  ordinal: bigint,
  equalBins: number,
]
