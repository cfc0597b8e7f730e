import { Readable } from 'node:stream'
import { int, oneOf, shape } from '../../jobs/shape.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import { FileMissing } from '../../jobs/storage.ts'
import type { Storage } from '../../jobs/storage.ts'
import { listFiles } from '../../sql/datasets/versions.ts'
import type { FileFacts, FileRow, VersionRow } from '../../sql/datasets/versions.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { matchesTag } from '../entity-tag.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import { errorBody, fileOf, noBody } from '../fields.ts'
import { headerOf } from '../header.ts'
import { readRange } from './byte-range.ts'
import type { ByteRange } from './byte-range.ts'
import { findBuiltVersion, versionPath } from './version.ts'

const TYPES = { jsonl: 'application/x-ndjson', parquet: 'application/octet-stream' } as const
const file = fileOf(TYPES.jsonl, TYPES.parquet)

export const exportVersion = endpoint('GET', '/datasets/{dataset_id}/versions/{version}/export', {
  summary: 'Download the rows of a version',
  description:
    'JSONL is one stream: all rows of the split, or without `split` of all splits in the order train, validation, test. Parquet is one file a request: where the version has several, `split` and `shard` name it (`files` of the version lists them). A split without rows is an empty file. A single byte range, `If-Range` and `If-None-Match` are honoured; `ETag` and `Digest` are the SHA-256 of the whole. An installation on S3 may answer a GET of one stored file, without `If-Range`, by 302 to an address that holds for a short while, needs no key, and takes the same `Range`; where the operator has not chosen so, as by default, it never does.',
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
    200: file,
    206: file,
    302: noBody.description('Location is where the storage has the file, by signature'),
    304: noBody,
    404: errorBody,
    409: errorBody,
    416: errorBody,
  },
  async handle({ context, principal, params, query, request }) {
    const version = await findBuiltVersion(context, principal, params)
    const files = await listFiles(context.sql, principal.orgId, [version.id])
    const chosen = choose(files, query)
    const { size_bytes: size, sha256 } = wholeOf(version, chosen, query.split)
    const tag = `"${sha256}"`
    const headers = {
      ETag: tag,
      'Accept-Ranges': 'bytes',
      'Content-Type': TYPES[query.format],
      'Content-Disposition': `attachment; filename="${fileName(version, chosen, query.split)}"`,
      Digest: `sha-256=${Buffer.from(sha256, 'hex').toString('base64')}`,
    }
    if (matchesTag(headerOf(request, 'if-none-match'), tag)) return new Answer(304, null, headers)
    const ifRange = headerOf(request, 'if-range')
    const isSame = ifRange === undefined || ifRange === tag
    const range = isSame ? readRange(headerOf(request, 'range'), size) : undefined
    if (range === 'unsatisfiable') throw unsatisfiable(size)
    await requireWhole(context.storage, chosen)
    // The address is signed for GET, and the storage knows the file by another tag.
    if (request.method === 'get' && ifRange === undefined) {
      const location = await linkTo(context, chosen, headers)
      if (location)
        return new Answer(302, null, { Location: location, 'Cache-Control': 'no-store' })
    }
    // Tag, digest and ranges describe the bytes as they are stored, so hapi must not compress them.
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

interface Choice {
  readonly format: FileRow['format']
  readonly split?: Split | undefined
  readonly shard?: number | undefined
}

/** One file or more, in the order of the download. */
type ChosenFiles = readonly [FileRow, ...FileRow[]]

/**
 * The files of a download in their order: those with rows, else an empty one.
 * @throws ApiError 404, or 400 where the download takes one file and several match
 */
function choose(files: readonly FileRow[], { format, split, shard }: Choice): ChosenFiles {
  const matching = files
    .filter((file) => file.format === format && (split === undefined || file.split === split))
    .filter((file) => shard === undefined || file.shard === shard)
  const withRows = matching.filter(({ row_count: rows }) => rows > 0)
  const [first, ...others] = withRows.length > 0 ? withRows : matching.slice(0, 1)
  if (!first) throw notFound('File of the dataset version')
  const chosen = [first, ...others] as const
  if (others.length > 0 && (format === 'parquet' || shard !== undefined)) {
    const paths = chosen.map(({ path }) => path).join(', ')
    throw badRequest(`Name one file by split and shard, there are several: ${paths}`)
  }
  return chosen
}

function wholeOf(
  { streams }: VersionRow,
  [first, ...others]: ChosenFiles,
  split: Split | undefined,
): FileFacts {
  const whole = others.length === 0 ? first : streams[split ?? 'all']
  if (!whole) throw new Error('The version does not describe its files as one stream')
  return whole
}

/**
 * Names the file that a client saves. A client chose the dataset's name, and this goes into a header: only
 * its ASCII letters and digits stay.
 */
function fileName(
  version: VersionRow & { dataset_name: string },
  [file, ...others]: ChosenFiles,
  split: Split | undefined,
) {
  const words = version.dataset_name.match(/[a-z0-9]+/gi) ?? ['dataset']
  const name = words.join('-').slice(0, 80)
  const part =
    others.length === 0 ? file.path.replace(/^.*\//, '') : `${split ?? 'all'}.${file.format}`
  return `${name}-v${version.version_number}-${part}`
}

/**
 * Looks before the answer begins, which later could only break off.
 * @throws FileMissing
 */
async function requireWhole(storage: Storage, files: readonly FileRow[]) {
  async function requireSize({ storage_key, size_bytes }: FileRow) {
    if ((await storage.measure(storage_key)) !== size_bytes) {
      throw new FileMissing(`The stored file ${storage_key} is not whole`)
    }
  }
  for (let at = 0; at < files.length; at += MEASURED_AT_ONCE)
    await Promise.all(files.slice(at, at + MEASURED_AT_ONCE).map(requireSize))
}

/** A version may have thousands of files, and on S3 each takes a round trip. */
const MEASURED_AT_ONCE = 16

/** Where the storage itself serves the download, if it is one stored file and the operator wants that. */
async function linkTo(
  { storage, redirectSeconds: seconds }: ApiContext,
  [{ storage_key }, ...others]: ChosenFiles,
  headers: Readonly<Record<'Content-Type' | 'Content-Disposition', string>>,
) {
  if (seconds === undefined || others.length > 0) return undefined
  return storage.linkTo(storage_key, {
    seconds,
    contentType: headers['Content-Type'],
    contentDisposition: headers['Content-Disposition'],
  })
}

/** The bytes of a range of the concatenated files. Fewer of them than were announced break the answer off. */
async function* readBytes(storage: Storage, files: readonly FileRow[], { start, end }: ByteRange) {
  let first = 0
  for (const { storage_key, size_bytes } of files) {
    const from = Math.max(start - first, 0)
    const to = Math.min(end - first, size_bytes)
    let left = Math.max(to - from, 0)
    if (left > 0) {
      for await (const bytes of await storage.read(storage_key, { start: from, end: to })) {
        left -= (bytes as Buffer).length
        yield bytes
      }
    }
    if (left > 0) throw new FileMissing(`The stored file ${storage_key} was cut short`)
    first += size_bytes
  }
}

function unsatisfiable(size: number) {
  return new ApiError(416, 'range_not_satisfiable', 'The range is outside of the file', {
    headers: { 'Content-Range': `bytes */${size}` },
  })
}
