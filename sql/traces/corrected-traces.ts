import type { Transaction } from '../core/db.ts'

/**
 * Takes at most `limit` of the traces that were corrected before corrections changed decisions, and that
 * the caller has judged anew. A migration has listed them.
 */
export async function takeCorrected(tx: Transaction, limit: number) {
  return tx<{ org_id: string; project_id: string; trace_id: string }[]>`
    delete from corrected_traces_due where (org_id, project_id, trace_id) in (
      select org_id, project_id, trace_id from corrected_traces_due where due_at <= now()
      order by org_id, project_id, trace_id limit ${limit} for update skip locked)
    returning org_id, project_id, trace_id`
}
