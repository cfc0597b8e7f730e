import type { DuckDBConnection } from '@duckdb/node-api'
import { SPLITS } from '../../jobs/rules/dataset-recipe.ts'
import type { Split } from '../../jobs/rules/dataset-recipe.ts'
import type { ReadyFacts } from '../../sql/dataset-versions.ts'
import { readOne } from './duckdb.ts'

/** What the chosen rows are, in numbers, and which manifests and policies stand behind them. */
export async function describeRows(
  connection: DuckDBConnection,
): Promise<
  Pick<ReadyFacts, 'row_count' | 'split_counts' | 'token_estimate' | 'manifest_ids' | 'policy'>
> {
  const [row_count, token_estimate, ...bySide] = (await readOne<bigint[]>(connection, COUNTS)).map(
    Number,
  ) as [number, number, ...number[]]
  const counts = SPLITS.map((split, side) => [split, bySide[side]] as const)
  const manifests = await connection.runAndReadAll(MANIFESTS)
  const policies = await connection.runAndReadAll(POLICIES)
  return {
    row_count,
    token_estimate,
    split_counts: Object.fromEntries(counts) as Record<Split, number>,
    manifest_ids: manifests.getRows().map(([id]) => id as string),
    policy: {
      decision_policies: policies.getRows().map(([agent_name, version, traces]) => ({
        agent_name: agent_name as string,
        version: version as number,
        traces: Number(traces),
      })),
    },
  }
}

const COUNTS = `
  select count(*), coalesce(sum(tokens), 0),
    ${SPLITS.map((_, side) => `count(*) filter (where side = ${side})`).join(', ')}
  from chosen`

const USED = `
  from traces where no in (
    select trace_no from chosen union select rejected_no from chosen where rejected_no is not null)`

const MANIFESTS = `select distinct manifest_id ${USED} and manifest_id is not null order by manifest_id`

const POLICIES = `
  select policy_agent_name, policy_version, count(*) ${USED}
  group by policy_agent_name, policy_version order by policy_agent_name, policy_version`
