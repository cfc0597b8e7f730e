import type { Queryable } from '../core/db.ts'
import { storableText } from '../core/db.ts'
import { cut } from '../../jobs/rules/core/reader.ts'

/** A record that was not imported, and why. */
export interface ImportError {
  line: number
  code: string
  message: string
}

/** By line, those behind `afterLine`. */
export async function listImportErrors(
  sql: Queryable,
  orgId: string,
  importId: string,
  afterLine: number,
  limit: number,
) {
  return sql<ImportError[]>`
    select line, code, message from import_errors
    where org_id = ${orgId} and import_id = ${importId} and line > ${afterLine}
    order by line limit ${limit}`
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
