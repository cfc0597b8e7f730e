import Joi from 'joi'
import { int, listOf, oneOf, shape } from '../../jobs/shape.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Storage } from '../../jobs/storage.ts'
import { findNearDuplicates } from '../../sql/datasets/near-duplicates.ts'
import * as rows from '../../sql/datasets/rows.ts'
import type { LengthFilter, RowPosition } from '../../sql/datasets/rows.ts'
import { listFiles } from '../../sql/datasets/versions.ts'
import type { FileRow, VersionRow } from '../../sql/datasets/versions.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, nullable } from '../fields.ts'
import { decodeNumberCursor, encodeCursor } from '../pagination.ts'
import { findBuiltVersion, versionPath } from './version.ts'

const length = () => int(0, 10_000_000)

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
    'In their order. A page of long rows may hold fewer than `limit`; read on by cursor. With bounds of tokens or messages a page looks at 100,000 rows at most, and may hold none of them. The first page has samples of the rows that were left out because they are near to one that was kept.',
  access: 'key',
  params: versionPath,
  query: shape(
    {},
    {
      split: oneOf(...SPLITS),
      min_tokens: length().description('By the estimate of tokens; included, as the other bounds'),
      max_tokens: length(),
      min_messages: length().description('Of a pair those of the prompt and the chosen one'),
      max_messages: length(),
      ...cursorQuery,
    },
  ),
  answers: {
    200: Joi.object({
      rows: listOf(
        Joi.object({
          ordinal: Joi.number().integer().required(),
          split: Joi.string().required(),
          provenance: Joi.object().unknown(true).required(),
          token_estimate: nullable(Joi.number().integer()).description(
            'Null in versions that an earlier release built',
          ),
          span_id: nullable(Joi.string()).description(
            'Of the call that the row was made of, where that has one',
          ),
        })
          .unknown(true)
          .label('DatasetRow'),
      ).required(),
      total: Joi.number()
        .integer()
        .required()
        .description('Rows of the version, or of the split, of whatever length'),
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
    const { split, limit, ...lengths } = query
    const after = decodeNumberCursor(query.cursor) ?? 0
    const { from, until, end } = rangeOf(version, { split, lengths, after })
    const page = { from, until, lengths, limit: limit + 1 }
    const positions = await rows.listRows(sql, principal.orgId, version.id, page)
    const shown = withinBytes(positions.slice(0, limit))
    const files = await listFiles(sql, principal.orgId, [version.id])
    const next = positions[shown.length]?.ordinal ?? (until < end ? until : undefined)
    return {
      rows: await readRows(storage, files, shown),
      total: split ? version.split_counts?.[split] : version.row_count,
      near_duplicates: query.cursor
        ? []
        : await findNearDuplicates(sql, principal.orgId, version.id),
      limit,
      next_cursor: next === undefined ? null : encodeCursor([next]),
    }
  },
})

/**
 * The ordinals that a page looks at, and the end of those there are: splits come one after the other.
 * @param after where the page begins
 */
function rangeOf(
  { row_count, split_counts }: VersionRow,
  { split, lengths, after }: { split: Split | undefined; lengths: LengthFilter; after: number },
) {
  const before = SPLITS.slice(0, split && SPLITS.indexOf(split))
  const start = split ? before.reduce((sum, name) => sum + (split_counts?.[name] ?? 0), 0) : 0
  const end = start + ((split ? split_counts?.[split] : row_count) ?? 0)
  const from = Math.max(after, start)
  const isBounded = Object.values(lengths).some((bound) => bound !== undefined)
  return { from, until: isBounded ? Math.min(end, from + MAX_LOOKED_AT) : end, end }
}

/** The first rows that fit into an answer, at least one. */
function withinBytes(positions: readonly RowPosition[]) {
  let bytes = 0
  const end = positions.findIndex(({ byte_length }) => (bytes += byte_length) > MAX_PAGE_BYTES)
  return end < 0 ? positions : positions.slice(0, Math.max(1, end))
}

async function readRows(
  storage: Storage,
  files: readonly FileRow[],
  positions: readonly RowPosition[],
) {
  const read: ReadRow[] = []
  for (const range of rangesOf(positions)) {
    const [first, last] = [range[0], range.at(-1)]
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
    for (const { ordinal, split, byte_offset, byte_length, tokens, span_id } of range) {
      const line = bytes.subarray(byte_offset - start, byte_offset - start + byte_length)
      const row = JSON.parse(line.toString()) as RowContent
      read.push({ ordinal, split, token_estimate: tokens, span_id, ...row })
    }
  }
  return read
}

/** Rows that are read together: of one file, with little between them that a filter has left out. */
function rangesOf(positions: readonly RowPosition[]) {
  const ranges: RowPosition[][] = []
  for (const row of positions) {
    const range = ranges.at(-1)
    const last = range?.at(-1)
    if (range && last && isNear(last, row)) range.push(row)
    else ranges.push([row])
  }
  return ranges
}

function isNear(one: RowPosition, next: RowPosition) {
  if (one.split !== next.split || one.shard !== next.shard) return false
  return next.byte_offset - one.byte_offset - one.byte_length <= MAX_GAP_BYTES
}

/** The members of a row of any type and format. */
interface RowContent {
  readonly messages?: readonly RowMessage[]
  readonly prompt?: readonly RowMessage[]
  readonly chosen?: readonly RowMessage[]
  readonly rejected?: readonly RowMessage[]
  readonly completion?: readonly RowMessage[]
  readonly label?: boolean
  /** Of the format sharegpt, as the next one. */
  readonly system?: string | null
  readonly conversations?: readonly {
    readonly from: string
    readonly value: string
    readonly weight: number
  }[]
  readonly provenance: {
    readonly trace_id: string
    readonly verdict: string
    readonly repaired: boolean
    readonly pair_source?: string
    readonly rejected?: { readonly trace_id: string }
  }
}

interface RowMessage {
  readonly role: string
  /** A list of parts where it came so. */
  readonly content: unknown
  readonly weight: number
  readonly tool_calls?: readonly {
    /** Arguments are a text or an object, as the format has them. */
    readonly function: { readonly name: string; readonly arguments: unknown }
  }[]
}

export type ReadRow = RowContent &
  Pick<RowPosition, 'ordinal' | 'split' | 'span_id'> & { readonly token_estimate: number | null }

const MAX_PAGE_BYTES = 8 << 20
/** So much that is not shown is read rather than asked for in another request. */
const MAX_GAP_BYTES = 64 << 10
/** Rows of one version stand side by side, so that these take some tens of milliseconds. */
const MAX_LOOKED_AT = 100_000
