import type { Fragment, Queryable } from './db.ts'

/**
 * The condition, beginning with `and`, that a row belongs to one of the projects a caller may see. The
 * query itself keeps to the organization.
 * @param column the project id of the row
 * @param projectIds null for all projects of the organization
 */
export function inProjects(sql: Queryable, column: Fragment, projectIds: readonly string[] | null) {
  return projectIds ? sql`and ${column} = any(${projectIds}::uuid[])` : sql``
}
