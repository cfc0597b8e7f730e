import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Storage } from '../../jobs/storage.ts'
import { findNearDuplicates } from '../../sql/datasets/near-duplicates.ts'
import * as rows from '../../sql/datasets/rows.ts'
import type { RowPosition } from '../../sql/datasets/rows.ts'
import { listFiles } from '../../sql/datasets/versions.ts'
import type { FileRow } from '../../sql/datasets/versions.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, nullable } from '../fields.ts'
import { decodeNumberCursor, encodeCursor } from '../pagination.ts'
import { findBuiltVersion, versionPath } from './version.ts'

const nearDuplicate = Joi.object({
  row: Joi.object({ trace_id: Joi.string().required(), split: Joi.string().required() })
    .required()
    .description(
      'The trace that it was made of, the chosen one of a pair; where it would have gone',
    ),
  kept: Joi.object({
    trace_id: Joi.string().required(),
    split: Joi.string().required(),
    ordinal: Joi.number().integer().required(),
  })
    .required()
    .description('The row that was kept, by its `ordinal` in the version'),
  similarity: Joi.number()
    .required()
    .description(
      'Share of equal bins of their signatures, 0.8 to 1: an estimate of what they share',
    ),
}).label('NearDuplicate')

export const listRows = endpoint('GET', '/datasets/{dataset_id}/versions/{version}/rows', {
  summary: 'Look at the rows of a version',
  description:
    'In their order. A page of long rows may hold fewer than `limit`; read on by cursor. The first page has samples of the rows that were left out because they are near to one that was kept.',
  access: 'key',
  params: versionPath,
  query: shape({}, { split: oneOf(...SPLITS), ...cursorQuery }),
  answers: {
    200: Joi.object({
      rows: listOf(
        Joi.object({
          ordinal: Joi.number().integer().required(),
          split: Joi.string().required(),
          provenance: Joi.object().unknown(true).required(),
        })
          .unknown(true)
          .label('DatasetRow'),
      ).required(),
      total: Joi.number().integer().required().description('Rows of the version, or of the split'),
      near_duplicates: listOf(nearDuplicate)
        .required()
        .description(
          'At most 1,000, on the first page, whatever its split; `dropped_counts` has them all under `near_duplicate` and `split.near_duplicate`',
        ),
      limit: Joi.number().integer().required(),
      next_cursor: nullable(Joi.string()).description('Give it as `cursor` to read on'),
    }).label('DatasetRowList'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const { sql, storage } = context
    const version = await findBuiltVersion(context, principal, params)
    const from = decodeNumberCursor(query.cursor) ?? 0
    const { split, limit } = query
    const page = { from, split, limit: limit + 1 }
    const positions = await rows.listRows(sql, principal.orgId, version.id, page)
    const shown = withinBytes(positions.slice(0, limit))
    const files = await listFiles(sql, principal.orgId, [version.id])
    const next = positions[shown.length]
    return {
      rows: await readRows(storage, files, shown),
      total: split ? version.split_counts?.[split] : version.row_count,
      near_duplicates: query.cursor
        ? []
        : await findNearDuplicates(sql, principal.orgId, version.id),
      limit,
      next_cursor: next ? encodeCursor([next.ordinal]) : null,
    }
  },
})

/** The first rows that fit into an answer, at least one. */
function withinBytes(positions: readonly RowPosition[]) {
  let bytes = 0
  const end = positions.findIndex(({ byte_length }) => (bytes += byte_length) > MAX_PAGE_BYTES)
  return end < 0 ? positions : positions.slice(0, Math.max(1, end))
}

/** Neighbouring rows are read as one range of their file. */
async function readRows(
  storage: Storage,
  files: readonly FileRow[],
  positions: readonly RowPosition[],
) {
  const byFile = Map.groupBy(positions, ({ split, shard }) => `${split}-${shard}`)
  const read: object[] = []
  for (const group of byFile.values()) {
    const [first, last] = [group[0], group.at(-1)]
    const file = files.find(
      ({ format, split, shard }) =>
        format === 'jsonl' && split === first?.split && shard === first.shard,
    )
    if (!first || !last || !file) throw new Error('The version has no file of these rows')
    const start = first.byte_offset
    const end = last.byte_offset + last.byte_length
    const bytes = Buffer.concat(
      await Array.fromAsync(await storage.read(file.storage_key, { start, end })),
    )
    for (const { ordinal, split, byte_offset, byte_length } of group) {
      const line = bytes.subarray(byte_offset - start, byte_offset - start + byte_length)
      read.push({ ordinal, split, ...(JSON.parse(line.toString()) as object) })
    }
  }
  return read
}

const MAX_PAGE_BYTES = 8 << 20
