import type { DuckDBConnection } from '@duckdb/node-api'
import { MAX_SCORE_NAMES } from '../../jobs/rules/datasets/card-facts.ts'
import type { Composition } from '../../jobs/rules/datasets/card-facts.ts'
import { RARE_MEMBERS } from '../../jobs/rules/datasets/formats.ts'
import { openLengthBins } from '../../jobs/rules/datasets/length-bins.ts'
import type { RowLengths } from '../../jobs/rules/datasets/length-bins.ts'
import { LOSSES } from '../../jobs/rules/datasets/row-writer.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import { readChunks, readOne } from '../runtime/duckdb.ts'
import type { Bytes } from '../runtime/duckdb.ts'

/** The queries about the rows of `row-list.ts` that stay. `left-rows.ts` has chosen them. */

/** How many tasks, sessions, sources and texts are in two splits. */
export async function countSplitLeaks(connection: DuckDBConnection): Promise<number> {
  const [leaks] = await readOne<[bigint]>(connection, SPLIT_LEAKS)
  return Number(leaks)
}

/** How many chosen rows repeat the text of another one. */
export async function countRepeats(connection: DuckDBConnection): Promise<number> {
  const query = 'select count(*) - count(distinct hash) from chosen'
  const [repeats] = await readOne<[bigint]>(connection, query)
  return Number(repeats)
}

/** How many rows are chosen, in all and for each split, and how many tokens they have. */
export async function countChosen(connection: DuckDBConnection) {
  const bySplit = SPLITS.map((_, index) => `count(*) filter (where split_index = ${index})`)
  const query = `select count(*), coalesce(sum(tokens), 0), ${bySplit.join(', ')} from chosen`
  const counts = await readOne<[bigint, bigint, bigint, bigint, bigint]>(connection, query)
  const [rows, tokens, train, validation, test] = counts
  return {
    rows: Number(rows),
    tokens: Number(tokens),
    splits: { train: Number(train), validation: Number(validation), test: Number(test) },
  }
}

/** What the chosen rows do not tell of their traces; words without a loss are left out. */
export async function countLosses(connection: DuckDBConnection): Promise<Record<string, number>> {
  const sums = LOSSES.map((name) => `coalesce(sum(${name}), 0)`).join(', ')
  const counts = await readOne<bigint[]>(connection, `select ${sums} ${CHOSEN_ROWS}`)
  const losses = LOSSES.map((name, i) => [name, Number(counts[i])] as const)
  return Object.fromEntries(losses.filter(([, n]) => n > 0))
}

/** How many values were taken out of the chosen rows, by class, and out of how many rows. */
export async function countRedactions(connection: DuckDBConnection) {
  const taken = 'from redactions semi join chosen using (index)'
  const counts: Record<string, number> = {}
  const query = `select class, sum(count)::bigint ${taken} group by class order by class`
  for await (const chunk of readChunks<[string, bigint]>(connection, query)) {
    for (const [name, count] of chunk) counts[name] = Number(count)
  }
  const [rows] = await readOne<[bigint]>(connection, `select count(distinct index) ${taken}`)
  return { counts, rows: Number(rows) }
}

/** The rare members that messages of the chosen rows have. */
export async function listRareMembers(connection: DuckDBConnection) {
  const any = RARE_MEMBERS.map((name) => `coalesce(bool_or(${name}), false)`).join(', ')
  const found = await readOne<boolean[]>(connection, `select ${any} ${CHOSEN_ROWS}`)
  return RARE_MEMBERS.filter((_, i) => found[i])
}

/** The manifests of the traces with a chosen row, by id. */
export async function listManifests(connection: DuckDBConnection): Promise<string[]> {
  const query = `
    select distinct manifest_id ${USED} and manifest_id is not null order by manifest_id`
  const ids: string[] = []
  for await (const chunk of readChunks<[string]>(connection, query)) {
    for (const [id] of chunk) ids.push(id)
  }
  return ids
}

/** What the chosen rows are made of. */
export async function readComposition(connection: DuckDBConnection): Promise<Composition> {
  const [ratio] = await readOne<[number | null]>(
    connection,
    `select avg(length_ratio) ${CHOSEN_ROWS}`,
  )
  const verdicts = await readCounts(
    connection,
    `select t.told ->> '$.verdict', count(*)
    from chosen c join traces t on t.index = c.trace_index group by 1 order by 1`,
  )
  const scores = await readCounts(
    connection,
    `select name, count(*) from (select unnest(json_keys(told, '$.scores')) as name ${USED})
    group by name order by count(*) desc, name limit ${MAX_SCORE_NAMES}`,
  )
  return {
    verdicts: Object.fromEntries(verdicts),
    scores: scores.map(([name, traces]) => ({ name, traces })),
    length_ratio: ratio,
    rare_members: await listRareMembers(connection),
  }
}

/** How many traces with a chosen row came in which month, by its first day. */
export async function countMonths(connection: DuckDBConnection): Promise<Record<string, number>> {
  const query = `select period, count(*) ${USED} group by period order by period`
  return Object.fromEntries(await readCounts(connection, query))
}

/** The decision policies of the traces with a chosen row, and how many traces each decided. */
export async function listPolicies(connection: DuckDBConnection) {
  const query = `
    select policy_agent_name, policy_version, count(*) ${USED}
    group by policy_agent_name, policy_version order by policy_agent_name, policy_version`
  const policies: { agent_name: string; version: number; traces: number }[] = []
  for await (const chunk of readChunks<[string, number, bigint]>(connection, query)) {
    for (const [agent_name, version, traces] of chunk) {
      policies.push({ agent_name, version, traces: Number(traces) })
    }
  }
  return policies
}

/** Returns a function for how many rows of a file that was made are chosen. */
export async function countKept(connection: DuckDBConnection) {
  const query =
    'select split_index, made_shard, count(*) from chosen group by split_index, made_shard'
  const counts = new Map<string, number>()
  for await (const chunk of readChunks<[number, number, bigint]>(connection, query)) {
    for (const [index, shard, n] of chunk) counts.set(`${SPLITS[index]} ${shard}`, Number(n))
  }
  return ({ split, shard }: File) => counts.get(`${split} ${shard}`) ?? 0
}

/** Offset and length, in bytes, of the chosen lines of a file that was made, in their order. */
export function readKeptLines(connection: DuckDBConnection, { split, shard }: File) {
  return readChunks<[offset: bigint, length: number]>(
    connection,
    `select made_offset, length from chosen
    where split_index = ${SPLITS.indexOf(split)} and made_shard = ${shard} order by ordinal`,
  )
}

/** How long the chosen rows are. */
export async function measureRows(connection: DuckDBConnection): Promise<RowLengths> {
  return {
    tokens: await countInBins(connection, 'tokens'),
    messages: await countInBins(connection, 'messages'),
  }
}

async function countInBins(connection: DuckDBConnection, length: keyof RowLengths) {
  const all = openLengthBins()
  const query = `select ${length}, count(*) from chosen group by ${length}`
  for await (const chunk of readChunks<[number, bigint]>(connection, query)) {
    for (const [n, rows] of chunk) all.add(n, Number(rows))
  }
  return all.bins()
}

/** How many rows were made, before any were left out. */
export async function countMade(connection: DuckDBConnection): Promise<number> {
  const [rows] = await readOne<[bigint]>(connection, 'select count(*) from rows')
  return Number(rows)
}

/** The chosen rows in their order. The last two members are of a pair's rejected trace. */
export function readChosen(connection: DuckDBConnection): AsyncGenerator<ChosenRow[]> {
  return readChunks<ChosenRow>(
    connection,
    `select ordinal, t.trace_id, c.hash, c.split_index, c.shard, c.byte_offset, c.length,
      c.tokens, c.messages, c.span_id, t.score_fingerprint, rejected.trace_id, rejected.score_fingerprint
    from chosen c join traces t on t.index = c.trace_index
    left join traces rejected on rejected.index = c.rejected_index
    order by ordinal`,
  )
}

export type ChosenRow = [
  ordinal: bigint,
  traceId: string,
  hash: Bytes,
  splitIndex: number,
  shard: bigint,
  byteOffset: bigint,
  length: number,
  tokens: number,
  messages: number,
  spanId: string | null,
  fingerprint: Bytes,
  rejectedTraceId: string | null,
  rejectedFingerprint: Bytes | null,
]

/** The tables that have the rows of a file under its split and shard: all rows made, or the chosen ones. */
export type Source = 'rows' | 'chosen'

/** The query for ids and places of the rows of a file, in their order. */
export function listedQuery(source: Source, file: File) {
  return `select left(lower(hex(hash)), 32) as row_id, byte_offset, length from ${source} where ${isIn(file)} order by index`
}

async function readCounts(connection: DuckDBConnection, query: string) {
  const counts: [string, number][] = []
  for await (const chunk of readChunks<[string, bigint]>(connection, query)) {
    for (const [name, n] of chunk) counts.push([name, Number(n)])
  }
  return counts
}

function isIn({ split, shard }: File) {
  return `split_index = ${SPLITS.indexOf(split)} and shard = ${shard}`
}

const SPLIT_LEAKS = `
  with used_in as (
    select trace_index as index, split_index from chosen
    union
    select rejected_index, split_index from chosen where rejected_index is not null),
  used as (
    select trace_id, task_id, session_id, parent_trace_id, u.split_index
    from used_in u join traces t using (index))
  select count(*) from (
    select 1 from used where task_id is not null
    group by task_id having min(split_index) <> max(split_index)
    union all
    select 1 from used where session_id is not null
    group by session_id having min(split_index) <> max(split_index)
    union all
    select 1 from used replay join used source on replay.parent_trace_id = source.trace_id
    where replay.split_index <> source.split_index
    union all
    select 1 from chosen group by hash having min(split_index) <> max(split_index))`

const CHOSEN_ROWS = 'from rows semi join chosen using (index)'

/** The traces with a chosen row. */
const USED = `
  from traces where index in (
    select trace_index from chosen
    union select rejected_index from chosen where rejected_index is not null)`

interface File {
  readonly split: Split
  readonly shard: number
}
