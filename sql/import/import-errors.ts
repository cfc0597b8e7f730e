import type { Queryable } from '../core/db.ts'
import { storableText } from '../core/db.ts'
import { cut } from '../../jobs/rules/core/reader.ts'

/** A record that was not imported, and why. */
export interface ImportError {
  line: number
  code: string
  message: string
}

/** By line, those behind `after`; of one code where it is given. */
export async function listImportErrors(
  sql: Queryable,
  orgId: string,
  importId: string,
  page: { after: number; code?: string | undefined; limit: number },
) {
  return sql<ImportError[]>`
    select line, code, message from import_errors
    where org_id = ${orgId} and import_id = ${importId} and line > ${page.after}
      ${page.code === undefined ? sql`` : sql`and code = ${page.code}`}
    order by line limit ${page.limit}`
}

/** How many of those that are kept there are of each code. */
export async function countImportErrors(sql: Queryable, orgId: string, importId: string) {
  const rows = await sql<{ code: string; n: number }[]>`
    select code, count(*) as n from import_errors
    where org_id = ${orgId} and import_id = ${importId} group by code order by n desc, code`
  return Object.fromEntries(rows.map(({ code, n }) => [code, n]))
}

/** Of one line the first is kept. */
export async function insertImportErrors(
  sql: Queryable,
  orgId: string,
  importId: string,
  errors: readonly ImportError[],
) {
  await sql`
    insert into import_errors (org_id, import_id, line, code, message)
    select ${orgId}, ${importId}, line, code, message
    from unnest(${errors.map(({ line }) => line)}::bigint[],
      ${errors.map(({ code }) => code)}::text[],
      ${errors.map(({ message }) => storableText(cut(message, MAX_MESSAGE)))}::text[]) as e (line, code, message)
    on conflict (org_id, import_id, line) do nothing`
}

/** Characters: messages may quote what was sent, and are read back by the thousand. */
const MAX_MESSAGE = 1000
/** Errors of an import that can be read back; further ones are only counted. */
export const MAX_ERRORS_KEPT = 100_000
