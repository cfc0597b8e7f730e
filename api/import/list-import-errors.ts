import Joi from 'joi'
import { int, listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import type { Sql } from '../../sql/core/db.ts'
import * as errors from '../../sql/import/import-errors.ts'
import type { ImportError } from '../../sql/import/import-errors.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, listMembers } from '../fields.ts'
import { jsonLines } from '../json-lines.ts'
import { decodeNumberCursor, listAnswer } from '../pagination.ts'
import { findVisibleImport, importPath } from './import.ts'

export const listImportErrors = endpoint('GET', '/import/{import_id}/errors', {
  summary: 'What was not imported and why, by line',
  description: `What could not be kept of the records that were imported is counted in \`losses\` of the import. \`format=jsonl\` answers with all of them as JSON Lines. The first ${errors.MAX_ERRORS_KEPT.toLocaleString('en')} or so of an import are kept; further ones are only counted.`,
  access: 'key',
  params: importPath,
  query: shape(
    {},
    {
      format: oneOf('json', 'jsonl').default('json'),
      code: text(100).description('Those of one code'),
      limit: int(1, 1000).default(1000),
      cursor: cursorQuery.cursor,
    },
  ),
  answers: {
    200: Joi.object({
      errors: listOf(
        Joi.object({
          line: Joi.number().integer().required(),
          code: Joi.string().required(),
          message: Joi.string().required(),
        }).label('ImportError'),
      ).required(),
      by_code: Joi.object()
        .pattern(Joi.string(), Joi.number().integer())
        .required()
        .description('How many of those that are kept there are of each code, the most first'),
      ...listMembers,
    }).label('ImportErrorList'),
    404: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const { sql } = context
    const item = await findVisibleImport(context, principal, params.import_id)
    if (query.format === 'jsonl') {
      return jsonLines(`import-${item.id}-errors.jsonl`, allErrors(sql, item, query.code))
    }
    const page = { limit: query.limit, offset: 0 }
    /** The last line before the page. */
    const after = decodeNumberCursor(query.cursor, LINE_DIGITS) ?? 0
    const { code } = query
    const [rows, by_code] = await Promise.all([
      errors.listImportErrors(sql, item.org_id, item.id, { after, code, limit: page.limit + 1 }),
      errors.countImportErrors(sql, item.org_id, item.id),
    ])
    const total = code === undefined ? item.error_count : (by_code[code] ?? 0)
    const list = listAnswer('errors', page, rows, total, viewError, ({ line }) => [line])
    return { ...list, by_code }
  },
})

function viewError({ line, code, message }: ImportError) {
  return { line, code, message }
}

async function* allErrors(sql: Sql, { org_id, id }: ImportRow, code: string | undefined) {
  for (let after = 0; ;) {
    const rows = await errors.listImportErrors(sql, org_id, id, {
      after,
      code,
      limit: ERRORS_A_READ,
    })
    for (const row of rows) yield viewError(row)
    const last = rows.at(-1)
    if (!last || rows.length < ERRORS_A_READ) return
    after = last.line
  }
}

const ERRORS_A_READ = 5000

const LINE_DIGITS = 15
