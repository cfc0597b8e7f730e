import type { Sql } from '../../core/db.ts'
import { inProjects } from '../../core/projects.ts'
import type { BackupScope } from './line-rows.ts'

/** A project or a skill, whose rows are read together. */
export interface Parent {
  readonly id: string
  readonly name: string
  /** The expression of its id, over the names of `sourceOf`. */
  readonly column: 'p.id' | 's.id'
}

/** By name. */
export async function* listParents(
  sql: Sql,
  of: 'project' | 'skill',
  { orgId, projectIds, until }: BackupScope,
): AsyncGenerator<Parent> {
  const isIn = of === 'project' ? inProjects(sql, sql`id`, projectIds) : sql`and deleted_at is null`
  for (let after = ''; ;) {
    const rows = await sql<{ id: string; name: string }[]>`
      select id, name from ${sql(`${of}s`)}
      where org_id = ${orgId} and created_at <= ${until}::text::timestamptz and name > ${after} ${isIn}
      order by name limit ${PARENTS_A_READ}`
    for (const row of rows) yield { ...row, column: of === 'project' ? 'p.id' : 's.id' }
    const last = rows.at(-1)
    if (!last || rows.length < PARENTS_A_READ) return
    after = last.name
  }
}

const PARENTS_A_READ = 500
