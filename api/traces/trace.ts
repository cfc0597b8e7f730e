import { shape, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findTraces } from '../../sql/traces/traces.ts'
import type { ShownTraceRow } from '../../sql/traces/traces.ts'
import { badRequest, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

/** Path of every operation on one trace. */
export const tracePath = shape({ trace_id: textReference().description('May hold %2F') })

/** A trace as clients see it, without its content. */
export function viewTrace({ trace_id, started_at, ended_at, ...rest }: ShownTraceRow) {
  return {
    id: trace_id,
    trace_id,
    ...rest,
    started_at,
    ended_at,
    duration_ms: ended_at && ended_at.getTime() - started_at.getTime(),
  }
}

/**
 * Finds a trace by its id: in the project named, else in the default project, else in the only project
 * that has the id.
 * @throws ApiError 404, or 400 where several projects have the id and none is named
 */
export async function findVisibleTrace(
  sql: Queryable,
  principal: Principal,
  traceId: string,
  project: string | undefined,
) {
  const projectIds = await readableProjects(sql, principal, project)
  const [trace, other] = await findTraces(sql, principal.orgId, projectIds, traceId)
  if (!trace) throw notFound('Trace')
  if (other && trace.project !== 'default') {
    throw badRequest('Several projects have a trace of this id: name one as `project`')
  }
  return { ...trace, org_id: principal.orgId }
}
