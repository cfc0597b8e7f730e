import { createHash, randomBytes } from 'node:crypto'

/** An answer of S3: an error where it has a code. */
export interface S3Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

export interface S3Request {
  readonly operation: string
  readonly bucket: string
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

interface StoredObject {
  readonly bytes: Buffer
  readonly etag: string
  changedAt: Date
}

interface UploadedPart {
  readonly bytes: Buffer
  readonly changedAt: Date
}

interface Upload {
  readonly bucket: string
  readonly key: string
  readonly parts: Map<number, UploadedPart>
  initiatedAt: Date
}

/** The objects and unfinished uploads of buckets in memory, with the conditions and errors of S3. */
export function openBuckets(pageSize: number) {
  const buckets = new Map<string, Map<string, StoredObject>>()
  const uploads = new Map<string, Upload>()

  function keep({ bucket, key, headers }: S3Request, bytes: Buffer, etag: string): S3Answer {
    const objects = buckets.get(bucket) as Map<string, StoredObject>
    const there = objects.get(key)
    const [isMatch, noneMatch] = [headers['if-match'], headers['if-none-match']]
    if (noneMatch === '*' && there) return failed(412, 'PreconditionFailed')
    if (isMatch !== undefined && !there) return failed(404, 'NoSuchKey')
    if (isMatch !== undefined && isMatch !== there?.etag) return failed(412, 'PreconditionFailed')
    objects.set(key, { bytes, etag, changedAt: new Date() })
    return { status: 200, headers: { etag } }
  }

  function read({ bucket, key, headers, query }: S3Request): S3Answer {
    const found = buckets.get(bucket)?.get(key)
    if (!found) return failed(404, 'NoSuchKey')
    const { bytes, etag, changedAt } = found
    if ((headers['if-match'] ?? etag) !== etag) return failed(412, 'PreconditionFailed')
    const common = {
      etag,
      'last-modified': changedAt.toUTCString(),
      'accept-ranges': 'bytes',
      'content-type': query.get('response-content-type') ?? 'application/octet-stream',
      'content-disposition': query.get('response-content-disposition') ?? 'inline',
    }
    const [range, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers['range'] ?? '') ?? []
    if (!range) return { status: 200, headers: common, body: bytes }
    const [start, end] = [Number(from), Math.min(Number(to || Infinity) + 1, bytes.length)]
    if (start >= bytes.length) return failed(416, 'InvalidRange')
    const contentRange = { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
    return {
      status: 206,
      headers: { ...common, ...contentRange },
      body: bytes.subarray(start, end),
    }
  }

  function complete(request: S3Request): S3Answer {
    const upload = uploads.get(request.query.get('uploadId') ?? '')
    if (!upload) return failed(404, 'NoSuchUpload')
    const named = [...request.body.toString().matchAll(/<Part>.*?<\/Part>/gs)].map(([part]) => part)
    const parts = named.map((part) => upload.parts.get(Number(valueOf('PartNumber', part)))?.bytes)
    if (parts.some((part, i) => !part || !named[i]?.includes(md5(part).toString('hex'))))
      return failed(400, 'InvalidPart')
    const found = parts as Buffer[]
    if (found.slice(0, -1).some(({ length }) => length < MIN_PART_BYTES))
      return failed(400, 'EntityTooSmall')
    const digest = md5(Buffer.concat(found.map(md5))).toString('hex')
    const answer = keep(request, Buffer.concat(found), `"${digest}-${found.length}"`)
    if (answer.status !== 200) return answer
    uploads.delete(request.query.get('uploadId') ?? '')
    return xml('CompleteMultipartUploadResult', `<ETag>${answer.headers?.['etag']}</ETag>`)
  }

  function listObjects({ bucket, query }: S3Request): S3Answer {
    const after = query.get('continuation-token') ?? ''
    const objects = buckets.get(bucket) ?? new Map<string, StoredObject>()
    const names = [...objects.keys()]
      .filter((name) => name.startsWith(query.get('prefix') ?? '') && name > after)
      .sort()
    const page = names.slice(0, pageSize)
    const contents = page.map((name) => {
      const { bytes, etag, changedAt } = objects.get(name) as StoredObject
      return `<Contents><Key>${name}</Key><Size>${bytes.length}</Size><ETag>${etag}</ETag><LastModified>${changedAt.toISOString()}</LastModified></Contents>`
    })
    const more = names.length > page.length
    const next = `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>`
    return xml('ListBucketResult', `${contents.join('')}${truncated(more, next)}`)
  }

  function listUploads({ bucket, query }: S3Request): S3Answer {
    const after = query.get('upload-id-marker') ?? ''
    const found = [...uploads]
      .filter(([id, upload]) => upload.bucket === bucket && id > after)
      .filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const page = found.slice(0, pageSize)
    const listed = page.map(
      ([id, { key, initiatedAt }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiatedAt.toISOString()}</Initiated></Upload>`,
    )
    const next = `<NextKeyMarker>${page.at(-1)?.[1].key}</NextKeyMarker><NextUploadIdMarker>${page.at(-1)?.[0]}</NextUploadIdMarker>`
    const more = truncated(found.length > page.length, next)
    return xml('ListMultipartUploadsResult', `${listed.join('')}${more}`)
  }

  const operations: Record<string, (request: S3Request) => S3Answer> = {
    GetObject: read,
    HeadObject: read,
    PutObject: (request) => keep(request, request.body, `"${md5(request.body).toString('hex')}"`),
    DeleteObject({ bucket, key, headers }) {
      const etag = buckets.get(bucket)?.get(key)?.etag
      const wanted = headers['if-match']
      if (etag && wanted && wanted !== etag) return failed(412, 'PreconditionFailed')
      buckets.get(bucket)?.delete(key)
      return { status: 204 }
    },
    CreateMultipartUpload({ bucket, key }) {
      // With characters that keys of ours cannot have.
      const id = randomBytes(30).toString('base64')
      uploads.set(id, { bucket, key, parts: new Map(), initiatedAt: new Date() })
      return xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`)
    },
    UploadPart({ query, body }) {
      const upload = uploads.get(query.get('uploadId') ?? '')
      if (!upload) return failed(404, 'NoSuchUpload')
      upload.parts.set(Number(query.get('partNumber')), { bytes: body, changedAt: new Date() })
      return { status: 200, headers: { etag: `"${md5(body).toString('hex')}"` } }
    },
    CompleteMultipartUpload: complete,
    AbortMultipartUpload({ query }) {
      const wasThere = uploads.delete(query.get('uploadId') ?? '')
      return wasThere ? { status: 204 } : failed(404, 'NoSuchUpload')
    },
    ListObjectsV2: listObjects,
    ListMultipartUploads: listUploads,
    ListParts({ query }) {
      const upload = uploads.get(query.get('uploadId') ?? '')
      if (!upload) return failed(404, 'NoSuchUpload')
      const parts = [...upload.parts].map(
        ([n, { bytes, changedAt }]) =>
          `<Part><PartNumber>${n}</PartNumber><Size>${bytes.length}</Size><LastModified>${changedAt.toISOString()}</LastModified></Part>`,
      )
      return xml('ListPartsResult', `${parts.join('')}${truncated(false)}`)
    },
  }

  return {
    buckets,
    uploads,
    perform(request: S3Request): S3Answer {
      if (!buckets.has(request.bucket)) return failed(404, 'NoSuchBucket')
      return operations[request.operation]?.(request) ?? failed(501, 'NotImplemented')
    },
  }
}

export function failed(status: number, code: string): S3Answer {
  const { body } = xml('Error', `<Code>${code}</Code><Message>Said by the test</Message>`)
  return { status, body: body as string, headers: { 'content-type': 'application/xml' } }
}

function xml(name: string, content: string): S3Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><${name}>${content}</${name}>`
  return { status: 200, body, headers: { 'content-type': 'application/xml' } }
}

function truncated(isSo: boolean, next = '') {
  return `<IsTruncated>${isSo}</IsTruncated>${isSo ? next : ''}`
}

function valueOf(name: string, text: string) {
  return new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(text)?.[1] ?? ''
}

function md5(bytes: Buffer) {
  return createHash('md5').update(bytes).digest()
}

const MIN_PART_BYTES = 5 << 20
