import { randomUUIDv7 } from 'node:crypto'
import type { Comparison } from '../../jobs/rules/replay/comparison.ts'
import type { Replayability } from '../../jobs/rules/replay/replayability.ts'
import type { EvalVerdict } from '../../jobs/rules/core/verdicts.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText, onlyRow } from '../core/db.ts'

/** What names the traces of a link, which are of one project. */
export interface LinkedPair {
  readonly org_id: string
  readonly project_id: string
  readonly original_trace_id: string
  readonly replayed_trace_id: string
}

/** What is shown of a link. */
export interface LinkResult {
  task_id: string
  batch_id: string
  eval_score: number | null
  eval_verdict: EvalVerdict | null
}

/** The completed task of a pair, whether it was submitted or linked. */
export async function findPairTask(sql: Queryable, pair: LinkedPair) {
  const [task] = await sql<LinkResult[]>`
    select id as task_id, batch_id, eval_score, eval_verdict from replay_tasks
    where org_id = ${pair.org_id} and project_id = ${pair.project_id}
      and trace_id = ${pair.original_trace_id} and replayed_trace_id = ${pair.replayed_trace_id}
      and status = 'completed'
    order by id limit 1`
  return task
}

/**
 * The open batch that holds the links of an agent; it is made when there is none. Who links further traces
 * of the agent waits until the transaction ends.
 */
export async function lockLinkedBatch(
  tx: Transaction,
  { org_id, project_id }: LinkedPair,
  agentName: string,
  createdBy: string,
) {
  const rows = await tx<{ id: string }[]>`
    insert into replay_batches (org_id, project_id, id, agent_name, mode, note, is_linked, created_by,
      expires_at)
    values (${org_id}, ${project_id}, ${randomUUIDv7()}, ${agentName}, 'pull', 'linked', true,
      ${createdBy}, clock_timestamp() + make_interval(days => ${KEPT_DAYS}))
    on conflict (org_id, project_id, agent_name) where is_linked and canceled_at is null
      do update set expires_at = excluded.expires_at
    returning id`
  return onlyRow(rows).id
}

/** Adds a completed task to a batch that `lockLinkedBatch` locked. */
export async function insertLinkedTask(
  tx: Transaction,
  pair: LinkedPair,
  task: LinkResult & {
    readonly replayability: Replayability
    readonly comparison: Comparison | null
  },
) {
  const comparison = task.comparison && jsonText(task.comparison)
  await tx`
    insert into replay_tasks (org_id, project_id, batch_id, id, ordinal, trace_id, replayability, status,
      replayed_trace_id, eval_score, eval_verdict, comparison, created_at, ended_at)
    select org_id, project_id, id, ${task.task_id},
      (select coalesce(max(ordinal) + 1, 0) from replay_tasks t
        where t.org_id = b.org_id and t.batch_id = b.id),
      ${pair.original_trace_id}, ${task.replayability}, 'completed', ${pair.replayed_trace_id},
      ${task.eval_score}, ${task.eval_verdict}, ${comparison}::text::jsonb, created_at, clock_timestamp()
    from replay_batches b where org_id = ${pair.org_id} and id = ${task.batch_id}`
}

/** From the last link on. */
const KEPT_DAYS = 30
