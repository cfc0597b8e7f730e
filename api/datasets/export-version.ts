import Joi from 'joi'
import { Readable } from 'node:stream'
import { int, oneOf, shape } from '../../jobs/shape.ts'
import { SPLITS } from '../../jobs/rules/dataset-recipe.ts'
import type { Split } from '../../jobs/rules/dataset-recipe.ts'
import type { Storage } from '../../jobs/storage.ts'
import { listFiles } from '../../sql/dataset-versions.ts'
import type { FileFacts, FileRow, VersionRow } from '../../sql/dataset-versions.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { matchesTag, readRange } from './byte-range.ts'
import type { ByteRange } from './byte-range.ts'
import { findReadyVersion, versionPath } from './show-version.ts'

export const exportVersion = endpoint('GET', '/datasets/{dataset_id}/versions/{version}/export', {
  area: 'datasets',
  summary: 'Download the rows of a version',
  description:
    'JSONL is one stream: all rows of the split, or without `split` of all splits in the order train, validation, test. Parquet is one file a request: where the version has several, `split` and `shard` name it (`files` of the version lists them). A single byte range, `If-Range` and `If-None-Match` are honoured; `ETag` and `Digest` are the SHA-256 of the whole.',
  access: 'key',
  params: versionPath,
  query: shape(
    {},
    {
      format: oneOf('jsonl', 'parquet').default('jsonl'),
      split: oneOf(...SPLITS),
      shard: int(0, 99_999).description('One file of a split that has several'),
    },
  ),
  answers: {
    200: Joi.any().description('application/x-ndjson, or application/octet-stream for Parquet'),
    206: Joi.any(),
    304: Joi.any(),
    404: errorBody,
    409: errorBody,
    416: errorBody,
  },
  async handle({ context, principal, params, query, request }) {
    const version = await findReadyVersion(context, principal, params)
    const files = await listFiles(context.sql, principal.orgId, [version.id])
    const format = query.format ?? 'jsonl'
    const chosen = choose(files, { ...query, format })
    const { size_bytes: size, sha256 } = wholeOf(version, chosen, query.split)
    const tag = `"${sha256}"`
    const headers = {
      ETag: tag,
      'Accept-Ranges': 'bytes',
      'Content-Type': TYPES[format],
      'Content-Disposition': `attachment; filename="${fileName(version, chosen, query.split)}"`,
      Digest: `sha-256=${Buffer.from(sha256, 'hex').toString('base64')}`,
    }
    const asked = request.headers as Record<string, string | undefined>
    if (matchesTag(asked['if-none-match'], tag)) return new Answer(304, null, headers)
    const isSame = asked['if-range'] === undefined || asked['if-range'] === tag
    const range = isSame ? readRange(asked['range'], size) : undefined
    if (range === 'unsatisfiable') throw outside(size)
    // Compressed on the way, the bytes would not be the ones that tag, digest and ranges speak of.
    request.info.acceptEncoding = 'identity'
    const { start, end } = range ?? { start: 0, end: size }
    const body = Readable.from(readBytes(context.storage, chosen, { start, end }), {
      objectMode: false,
    })
    return new Answer(range ? 206 : 200, body, {
      ...headers,
      'Content-Length': String(end - start),
      ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
    })
  },
})

interface Chosen {
  readonly format: FileRow['format']
  readonly split?: Split | undefined
  readonly shard?: number | undefined
}

/** The files of a download in their order. @throws ApiError 404, and 400 where it takes one and there are several */
function choose(files: readonly FileRow[], { format, split, shard }: Chosen) {
  const chosen = files
    .filter((file) => file.format === format && (split === undefined || file.split === split))
    .filter((file) => shard === undefined || file.shard === shard)
  if (chosen.length === 0) throw notFound('File of the dataset version')
  if (chosen.length > 1 && (format === 'parquet' || shard !== undefined)) {
    const paths = chosen.map(({ path }) => path).join(', ')
    throw badRequest(`Name one file by split and shard, there are several: ${paths}`)
  }
  return chosen
}

function wholeOf(
  { streams }: VersionRow,
  files: readonly FileRow[],
  split: Split | undefined,
): FileFacts {
  return (files.length === 1 ? files[0] : streams[split ?? 'all']) as FileFacts
}

/** Of the dataset's name only ASCII letters and digits stay: it is a client's text in a header. */
function fileName(
  version: VersionRow & { dataset_name: string },
  files: readonly FileRow[],
  split: Split | undefined,
) {
  const words = version.dataset_name.match(/[a-z0-9]+/gi) ?? ['dataset']
  const name = words.join('-').slice(0, 80)
  const [file] = files as [FileRow]
  const part =
    files.length === 1 ? file.path.replace(/^.*\//, '') : `${split ?? 'all'}.${file.format}`
  return `${name}-v${version.version_number}-${part}`
}

/** The bytes of a range over the files, as if they were one. */
async function* readBytes(storage: Storage, files: readonly FileRow[], { start, end }: ByteRange) {
  let first = 0
  for (const { storage_key, size_bytes } of files) {
    const from = Math.max(start - first, 0)
    const to = Math.min(end - first, size_bytes)
    if (from < to) yield* await storage.read(storage_key, { start: from, end: to })
    first += size_bytes
  }
}

function outside(size: number) {
  return new ApiError(416, 'range_not_satisfiable', 'The range is outside of the file', {
    headers: { 'Content-Range': `bytes */${size}` },
  })
}

const TYPES = { jsonl: 'application/x-ndjson', parquet: 'application/octet-stream' } as const
