import type { Transaction } from '../core/db.ts'

/**
 * Notes in the transaction that writes evidence of these skills that their score is due. The names go in in
 * one order, so that two transactions that note the same ones wait for each other in turn.
 */
export async function markScoresDue(tx: Transaction, orgId: string, names: readonly string[]) {
  if (names.length === 0) return
  await tx`
    insert into skill_scores_due (org_id, skill_name)
    select distinct ${orgId}::uuid, name from unnest(${names as string[]}::text[]) name
    order by name
    on conflict (org_id, skill_name) do update set due_at = excluded.due_at`
}
