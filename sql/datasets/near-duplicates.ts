import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'

/** A row that was left out of a version because it is near to one that was kept. */
export interface NearDuplicate {
  readonly row: { readonly trace_id: string; readonly split: Split }
  readonly kept: { readonly trace_id: string; readonly split: Split; readonly ordinal: number }
  /** The share of equal bins of their signatures, .80 to 1. */
  readonly similarity: number
}

/** The samples that a version has; empty where the organization has no such version. */
export async function findNearDuplicates(sql: Queryable, orgId: string, versionId: string) {
  const [row] = await sql<{ near_duplicates: NearDuplicate[] }[]>`
    select near_duplicates from dataset_versions where org_id = ${orgId} and id = ${versionId}`
  return row?.near_duplicates ?? []
}
