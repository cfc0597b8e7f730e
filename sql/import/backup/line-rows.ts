import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { LineValues } from '../../../jobs/rules/import/backup/write-line.ts'
import type { Fragment, Queryable } from '../../core/db.ts'
import { expressionOf } from './line-columns.ts'
import { sizeOf } from './line-sizes.ts'
import { sourceOf } from './line-source.ts'

/** What of an organization a backup has. */
export interface BackupScope {
  readonly orgId: string
  /** Null for all projects, and for what belongs to none. */
  readonly projectIds: readonly string[] | null
  /** The only workspace it has; null for all. */
  readonly workspaceId: string | null
  /** Has no row that was made later. A text, since dates have no microseconds. */
  readonly until: string
}

/** What a line is written of. */
export interface Line {
  readonly kind: Kind
  /** The values of its members, in their order. */
  readonly row: LineValues
  /** As it is stored, of a kind that has one. */
  readonly content: Uint8Array | undefined
}

/**
 * @param rest further conditions, beginning with `and`, and the order, over the names of `sourceOf`
 */
export async function listLineRows(
  sql: Queryable,
  kind: Kind,
  scope: BackupScope,
  rest: Fragment,
): Promise<Line[]> {
  const columns = kind.members.map((member) => expressionOf(kind, member))
  if (kind.hasContent) columns.push('t.content')
  const rows = await sql`
    select ${sql.unsafe(columns.join(', '))} from ${sourceIn(sql, kind, scope)} where true ${rest}`.values()
  return rows.map((row: unknown[]) => {
    const content = kind.hasContent ? (row.pop() as Uint8Array) : undefined
    return { kind, row, content }
  })
}

/** About how many bytes the rows have that `listLineRows` lists. @param rest as there */
export async function listLineSizes(
  sql: Queryable,
  kind: Kind,
  scope: BackupScope,
  rest: Fragment,
): Promise<number[]> {
  const rows = await sql<{ bytes: number }[]>`
    select ${sql.unsafe(sizeOf(kind))} as bytes from ${sourceIn(sql, kind, scope)} where true ${rest}`
  return rows.map(({ bytes }) => bytes)
}

function sourceIn(
  sql: Queryable,
  kind: Kind,
  { orgId, projectIds, workspaceId, until }: BackupScope,
) {
  return sql`(
    select ${orgId}::uuid as org_id, ${projectIds as string[] | null}::uuid[] as project_ids,
      ${workspaceId}::uuid as workspace_id, ${until}::timestamptz as until) scope
    ${sql.unsafe(sourceOf(kind))}`
}
