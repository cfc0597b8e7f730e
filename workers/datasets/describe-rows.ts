import type { DuckDBConnection } from '@duckdb/node-api'
import type { ReadyFacts } from '../../sql/datasets/versions.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import {
  countChosen,
  countLosses,
  countMonths,
  countRedactions,
  listManifests,
  listPolicies,
  measureRows,
  readComposition,
} from './chosen-rows.ts'
import { listNearSamples } from './near-rows.ts'

/**
 * Counts the chosen rows and what they lack, and lists the manifests, policies and months of their traces
 * and what was near to them.
 */
export async function describeRows(
  connection: DuckDBConnection,
  { redaction }: Recipe,
): Promise<
  Pick<
    ReadyFacts,
    | 'row_count'
    | 'split_counts'
    | 'losses'
    | 'token_estimate'
    | 'manifest_ids'
    | 'policy'
    | 'redaction'
    | 'near_duplicates'
    | 'composition'
    | 'trace_months'
    | 'lengths'
  >
> {
  const { rows, tokens, splits } = await countChosen(connection)
  return {
    row_count: rows,
    token_estimate: tokens,
    split_counts: splits,
    losses: await countLosses(connection),
    manifest_ids: await listManifests(connection),
    redaction: redaction && {
      ruleset: redaction.ruleset,
      ...(await countRedactions(connection)),
    },
    policy: { decision_policies: await listPolicies(connection) },
    near_duplicates: await listNearSamples(connection),
    composition: await readComposition(connection),
    trace_months: await countMonths(connection),
    lengths: await measureRows(connection),
  }
}
