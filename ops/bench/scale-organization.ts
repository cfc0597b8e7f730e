import { encodeCursor } from '../../api/pagination.ts'
import type { Sql } from '../../sql/core/db.ts'
import type { Bench } from './prepare.ts'

/** Traces that have what is rare: as many in each organization, so that what lists them answers the same. */
export const RARE_TRACES = 100

/** An organization of the scale bench, with its one project. */
export interface ScaleOrganization {
  readonly name: string
  readonly rows: number
  /** Its traces have started in between, one after another. */
  readonly beganAt: Date
  readonly endedAt: Date
  readonly key: string
  readonly owner: Bench['owner']
}

/**
 * What the requests of `SCALE_REQUESTS` name: a trace from the middle of an organization, times, and scores
 * that `RARE_TRACES` are above or below.
 */
export async function describeOrganization(
  sql: Sql,
  { rows, owner: { org_id, project_id }, beganAt, endedAt }: ScaleOrganization,
): Promise<Readonly<Record<string, string>>> {
  const [began, ended] = [beganAt.getTime(), endedAt.getTime()]
  const middle = new Date((began + ended) / 2)
  const [trace] = await sql<Middle[]>`
    select trace_id, started_at, agent_name, manifest_id, manifest_hash, session_id, task_id, user_id,
      parent_trace_id
    from traces where org_id = ${org_id} and project_id = ${project_id} and started_at <= ${middle}
      and parent_trace_id is not null
    order by started_at desc limit 1`
  if (!trace) throw new Error('The organization has no trace with a parent')
  const { started_at, ...names } = trace
  return {
    ...names,
    cursor: encodeCursor([started_at, trace.trace_id, project_id]),
    skill: 'skill-1',
    rare_word: trace.session_id.replace('session-', 'rare'),
    low_score: String(RARE_TRACES / rows),
    high_score: String(1 - RARE_TRACES / rows),
    yesterday: new Date(ended - DAY_MS).toISOString(),
    long_ago: new Date(began + (ended - began) / 9).toISOString(),
  }
}

const DAY_MS = 86_400_000

type Middle = { readonly started_at: Date } & Readonly<
  Record<
    | 'trace_id'
    | 'agent_name'
    | 'manifest_id'
    | 'manifest_hash'
    | 'session_id'
    | 'task_id'
    | 'user_id'
    | 'parent_trace_id',
    string
  >
>
