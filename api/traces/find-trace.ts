import { clientId, shape } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/db.ts'
import { findTraces } from '../../sql/traces.ts'
import { badRequest, notFound } from '../errors.ts'
import { projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

/** Path of every operation on one trace. */
export const tracePath = shape({ trace_id: clientId().description('May hold %2F') })
export const traceQuery = shape({}, { project: projectField })

/**
 * The trace of an id: in the project named, else the default project's, else the only one.
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
