import Joi from 'joi'
import { int, listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import { SPLITS } from '../../jobs/rules/dataset-recipe.ts'
import type { Storage } from '../../jobs/storage.ts'
import { listRows } from '../../sql/dataset-rows.ts'
import type { RowPlace } from '../../sql/dataset-rows.ts'
import { listFiles } from '../../sql/dataset-versions.ts'
import type { FileRow } from '../../sql/dataset-versions.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { encodeCursor } from '../pagination.ts'
import { decodeNumber } from './number-cursor.ts'
import { findReadyVersion, versionPath } from './show-version.ts'

export const listRowsOperation = endpoint('GET', '/datasets/{dataset_id}/versions/{version}/rows', {
  area: 'datasets',
  summary: 'Look at the rows of a version',
  description:
    'In their order. A page of long rows may hold fewer than `limit`; read on by cursor.',
  access: 'key',
  params: versionPath,
  query: shape(
    {},
    {
      split: oneOf(...SPLITS),
      limit: int(1, 500).default(50),
      cursor: text(512).description('next_cursor of the answer before'),
    },
  ),
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
      limit: Joi.number().integer().required(),
      next_cursor: nullable(Joi.string()).description('Give it as `cursor` to read on'),
    }).label('DatasetRowList'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const { sql, storage } = context
    const version = await findReadyVersion(context, principal, params)
    const limit = query.limit ?? 50
    const from = decodeNumber(query.cursor) ?? 0
    const page = { from, split: query.split, limit: limit + 1 }
    const places = await listRows(sql, principal.orgId, version.id, page)
    const shown = withinBytes(places.slice(0, limit))
    const files = await listFiles(sql, principal.orgId, [version.id])
    const next = places[shown.length]
    return {
      rows: await readRows(storage, files, shown),
      total: query.split ? version.split_counts?.[query.split] : version.row_count,
      limit,
      next_cursor: next ? encodeCursor([next.ordinal]) : null,
    }
  },
})

/** As many as fit into an answer, and at least one. */
function withinBytes(places: readonly RowPlace[]) {
  let bytes = 0
  const end = places.findIndex(({ byte_length }) => (bytes += byte_length) > MAX_PAGE_BYTES)
  return end < 0 ? places : places.slice(0, Math.max(1, end))
}

/** Neighbouring rows are read as one range of their file. */
async function readRows(storage: Storage, files: readonly FileRow[], places: readonly RowPlace[]) {
  const byFile = Map.groupBy(places, ({ split, shard }) => `${split}-${shard}`)
  const rows: object[] = []
  for (const group of byFile.values()) {
    const [first, last] = [group[0] as RowPlace, group.at(-1) as RowPlace]
    const file = files.find(
      ({ format, split, shard }) =>
        format === 'jsonl' && split === first.split && shard === first.shard,
    ) as FileRow
    const start = first.byte_offset
    const end = last.byte_offset + last.byte_length
    const bytes = Buffer.concat(
      await Array.fromAsync(await storage.read(file.storage_key, { start, end })),
    )
    for (const { ordinal, split, byte_offset, byte_length } of group) {
      const line = bytes.subarray(byte_offset - start, byte_offset - start + byte_length)
      rows.push({ ordinal, split, ...(JSON.parse(line.toString()) as object) })
    }
  }
  return rows
}

const MAX_PAGE_BYTES = 8 << 20
