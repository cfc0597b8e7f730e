import type { DuckDBConnection } from '@duckdb/node-api'
import type { ReadyFacts } from '../../sql/datasets/versions.ts'
import {
  countChosen,
  countLosses,
  listManifests,
  listPolicies,
  readComposition,
} from './chosen-rows.ts'

/** Counts the chosen rows, and lists the manifests and policies of their traces. */
export async function describeRows(
  connection: DuckDBConnection,
): Promise<
  Pick<
    ReadyFacts,
    | 'row_count'
    | 'split_counts'
    | 'losses'
    | 'token_estimate'
    | 'manifest_ids'
    | 'policy'
    | 'composition'
  >
> {
  const { rows, tokens, splits } = await countChosen(connection)
  return {
    row_count: rows,
    token_estimate: tokens,
    split_counts: splits,
    losses: await countLosses(connection),
    manifest_ids: await listManifests(connection),
    policy: { decision_policies: await listPolicies(connection) },
    composition: await readComposition(connection),
  }
}
