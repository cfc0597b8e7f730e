import type { Transaction } from '../core/db.ts'
import { aboutTraces, ofTraces } from './traces.ts'

/**
 * Deletes what was found in the content of traces that say something else now: the words they are found
 * by, who gave work to whom, which skills they used, how they fit the active manifest, in what they break
 * their own, and their repaired contents. Judgement and the search that follows it find it anew.
 * @param renamed those of another agent now, which the edges to their child traces name as well
 */
export async function deleteFindings(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
  renamed: readonly string[],
) {
  const isTold = aboutTraces(tx, orgId, projectId, traceIds)
  await tx`
    with words as (delete from trace_search where ${ofTraces(tx, orgId, projectId, traceIds)}),
    edges as (delete from agent_edges where ${isTold}),
    fits as (delete from trace_examinations where ${isTold}),
    violations as (delete from contract_violations where ${isTold}),
    skills as (delete from trace_skills where ${isTold})
    delete from trace_revisions where ${isTold}`
  if (renamed.length === 0) return
  await tx`
    delete from agent_edges e using traces child
    where child.org_id = ${orgId} and child.project_id = ${projectId}
      and child.parent_trace_id = any(${renamed}::text[]) and e.org_id = child.org_id
      and e.project_id = child.project_id and e.trace_id = child.trace_id and e.via = 'parent_trace'`
}
