import type { DuckDBConnection } from '@duckdb/node-api'
import { balanceLengths, isBiased } from '../../jobs/rules/datasets/length-balance.ts'
import { nearScope } from '../../jobs/rules/datasets/near-scope.ts'
import type { NearScope } from '../../jobs/rules/datasets/near-scope.ts'
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
import { countNearLeaks, removeNear } from './near-rows.ts'

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

/**
 * Decides which of the made rows stay, and where they stand. Near-duplicates are removed after equal rows,
 * which are found exactly, and before `max_rows`, so that no more is taken from that sample; pairs are
 * balanced last, as they then are.
 * @param findNear fills the table `near`
 * @returns what is doubtful about the rows
 */
export async function settleRows(
  connection: DuckDBConnection,
  recipe: Recipe,
  drop: Drop,
  findNear: (scope: NearScope) => Promise<void>,
): Promise<VersionWarning[]> {
  const { options, filters, dataset_type: type } = recipe
  drop('split.bridging', await removeBridgingRows(connection))
  if (options.dedupe !== 'none') drop('duplicate', await removeDuplicates(connection))
  const scope = nearScope(recipe)
  if (scope !== 'none') {
    await findNear(scope)
    const { inSplit, inOther } = await removeNear(connection)
    drop('near_duplicate', inSplit)
    drop('split.near_duplicate', inOther)
  }
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
  const isSampled = filters.max_rows !== null || options.dedupe === 'near'
  return isSampled || options.rows === 'call' || type === 'dpo'
}

/**
 * How many units are in two splits, and duplicates and near-duplicates left. Unless it is 0, the version
 * must not be used.
 */
export async function countLeaks(connection: DuckDBConnection, { options }: Recipe) {
  const leaks = (await countSplitLeaks(connection)) + (await countNearLeaks(connection))
  return options.dedupe === 'none' ? leaks : leaks + (await countRepeats(connection))
}
