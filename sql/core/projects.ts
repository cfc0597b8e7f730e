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

/** Which jobs a caller may see. */
export interface VisibleWork {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  /** The key that asks: of what belongs to no project it sees its own. Undefined hides that. */
  readonly keyId: string | undefined
}

/** The condition, beginning with `and`, that a caller may see a row of `jobs`, which is called `j`. */
export function isVisibleWork(sql: Queryable, { projectIds, keyId }: VisibleWork) {
  if (!projectIds || keyId === undefined) return inProjects(sql, sql`j.project_id`, projectIds)
  return sql`and (j.project_id = any(${projectIds}::uuid[])
    or j.project_id is null and j.created_by = ${keyId})`
}
