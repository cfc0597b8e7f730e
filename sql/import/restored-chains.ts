import type { Kind } from '../../jobs/rules/import/backup/kind.ts'
import type { Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'

/** How the versions of a kind that has them are found and compared. */
export interface Chain {
  /** Columns that name what the versions are of. */
  readonly of: readonly [string, ...string[]]
  /** The table that the first of these columns refers to. Who adds a version locks its row; none for skills. */
  readonly locked: 'projects' | 'datasets' | undefined
  /** The column of their number; the highest is the one that holds. */
  readonly number: string
  /** The column in which a version must be the same, else it is another one. */
  readonly same: string
}

/** What is there of the versions that a row is one of. */
export interface PresentVersion {
  /** The highest number; 0 for none. */
  readonly newest: number
  /** Whether the version of the row's number is the same; null where there is none. */
  readonly is_same: boolean | null
}

/** By kind. */
export const CHAINS: Readonly<Record<string, Chain>> = {
  decision_policy: {
    of: ['project_id', 'agent_name'],
    locked: 'projects',
    number: 'version',
    same: 'content_hash',
  },
  skill_version: {
    of: ['skill_id'],
    locked: undefined,
    number: 'version_number',
    same: 'body_sha256',
  },
  dataset_version: {
    of: ['dataset_id'],
    locked: 'datasets',
    number: 'version_number',
    same: 'content_hash',
  },
}

/** Until the transaction ends nobody else adds a version of what the rows are versions of. */
export async function lockChains(
  tx: Transaction,
  orgId: string,
  { of: [column], locked }: Chain,
  rows: readonly Readonly<Record<string, unknown>>[],
) {
  if (!locked) return
  const ids = rows.map((row) => row[column] as string)
  await tx`
    select from ${tx(locked)} where org_id = ${orgId} and id = any(${ids}::uuid[])
    order by id for no key update`
}

/** What is there of the versions that each row is one of, in the order of the rows. */
export async function listPresentVersions(
  tx: Transaction,
  orgId: string,
  { table }: Pick<Kind, 'table'>,
  { of, number, same }: Chain,
  rows: readonly Readonly<Record<string, unknown>>[],
) {
  const given = rows.map((row) =>
    Object.fromEntries([...of, number, same].map((column) => [column, row[column]])),
  )
  const isOfChain = of
    .map((column) => tx`t.${tx(column)} = g.${tx(column)}`)
    .reduce((left, right) => tx`${left} and ${right}`)
  return tx<PresentVersion[]>`
    select coalesce((select max(t.${tx(number)}) from ${tx(table)} t
        where t.org_id = ${orgId} and ${isOfChain}), 0) as newest,
      (select t.${tx(same)} is not distinct from g.${tx(same)} from ${tx(table)} t
        where t.org_id = ${orgId} and ${isOfChain} and t.${tx(number)} = g.${tx(number)}) as is_same
    from json_populate_recordset(null::${tx(table)}, ${jsonText(given)}::text::json)
      with ordinality g
    order by ordinality`
}
