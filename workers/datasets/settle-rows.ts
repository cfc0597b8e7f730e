import type { DuckDBConnection } from '@duckdb/node-api'
import { balanceLengths, isBiased } from '../../jobs/rules/datasets/length-balance.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { VersionWarning } from '../../sql/datasets/versions.ts'
import { countRepeats, countSplitLeaks } from './chosen-rows.ts'
import {
  chooseRows,
  deleteBridgingTraces,
  readLengthRatios,
  removeBeyond,
  removeBridgingRows,
  removeDuplicates,
  removeEnds,
} from './left-rows.ts'

/** Counts what was dropped for a reason; `count` is 1 by default. */
export type Drop = (reason: string, count?: number) => void

/**
 * Removes the traces that would tie two splits together. Traces of one session belong together, as do a
 * replay and its source, but each trace gets a split of its own (`split.ts`). Each such group keeps the
 * traces of one split: the one with most of its traces that have a row in the parent version, then the
 * one with most of its traces, then the one with the least trace id. So no group is in two splits, no
 * row changes its split from version to version, and rows of the parent version stay when others come.
 */
export async function settleTraces(connection: DuckDBConnection, drop: Drop) {
  drop('split.bridging', await deleteBridgingTraces(connection))
}

/** Decides which of the made rows stay, and where they stand. Returns what is doubtful about them. */
export async function settleRows(
  connection: DuckDBConnection,
  { options, filters, dataset_type: type }: Recipe,
  drop: Drop,
): Promise<VersionWarning[]> {
  drop('split.bridging', await removeBridgingRows(connection))
  if (options.dedupe === 'exact') drop('duplicate', await removeDuplicates(connection))
  if (filters.max_rows !== null) {
    drop('max_rows', await removeBeyond(connection, filters.max_rows))
  }
  const warnings = type === 'dpo' ? await balancePairs(connection, options, drop) : []
  await chooseRows(connection)
  return warnings
}

async function balancePairs(connection: DuckDBConnection, options: Recipe['options'], drop: Drop) {
  const { mean, ...ends } = balanceLengths(await readLengthRatios(connection), options)
  drop('length_balance', await removeEnds(connection, ends))
  if (!isBiased(mean)) return []
  const message = `Chosen turns are on average ${Math.exp(mean).toFixed(2)} times as long as rejected ones (mean log ratio ${mean.toFixed(3)})`
  return [{ code: 'length_bias', message }]
}

/** Whether rows may be removed once all are made for another reason than that they are there twice. */
export function settlesMore({ filters, options, dataset_type: type }: Recipe) {
  return filters.max_rows !== null || options.rows === 'call' || type === 'dpo'
}

/** How many units are in two splits, and duplicates left. Unless it is 0, the version must not be used. */
export async function countLeaks(connection: DuckDBConnection, { options }: Recipe) {
  const leaks = await countSplitLeaks(connection)
  return options.dedupe === 'none' ? leaks : leaks + (await countRepeats(connection))
}
