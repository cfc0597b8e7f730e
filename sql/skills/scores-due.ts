import type { Transaction } from '../core/db.ts'
import type { PublicSkill } from './registry-scores.ts'

/**
 * Notes in the transaction that writes evidence of these skills that their score is due. One that is due
 * already keeps its time, and is only locked until the evidence is there to be seen. The names go in in one
 * order, so that two transactions that note the same ones wait for each other in turn.
 */
export async function markScoresDue(tx: Transaction, orgId: string, names: readonly string[]) {
  if (names.length === 0) return
  await tx`
    insert into skill_scores_due as d (org_id, skill_name)
    select distinct ${orgId}::uuid, name from unnest(${names as string[]}::text[]) name
    order by name
    on conflict (org_id, skill_name) do update set due_at = d.due_at`
}

/**
 * Takes away notes of a due score, the oldest first, and tells the public skills that they are about: those
 * noted and those that were copied. It leaves those that a transaction is just noting, whose evidence
 * nobody else sees yet.
 */
export async function takeScoresDue(tx: Transaction, limit: number) {
  return tx<PublicSkill[]>`
    with due as (
      select org_id, skill_name from skill_scores_due
      order by due_at limit ${limit} for update skip locked
    ), taken as (
      delete from skill_scores_due d using due
      where d.org_id = due.org_id and d.skill_name = due.skill_name
      returning d.org_id, d.skill_name
    )
    select distinct r.skill_id, r.org_id
    from taken t
      join skills k on k.org_id = t.org_id and k.name = t.skill_name and k.deleted_at is null
      join registry_skills r on r.skill_id in (k.id, k.forked_from_skill_id)`
}
