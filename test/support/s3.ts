import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { failed, openBuckets } from './s3-buckets.ts'
import type { S3Answer, S3Request } from './s3-buckets.ts'

/** A request, by the name that S3 has for what it does. */
export type S3Call = Omit<S3Request, 'body'>

/**
 * What happens to a call instead: an error; no answer; a dropped connection, before or after it was
 * done; an answer that ends or stops after some bytes, or comes in pieces; or a body that is taken piece by piece.
 */
export type S3Interference =
  | { readonly status: number; readonly code: string }
  | 'silent'
  | 'reset'
  | 'answer lost'
  | { readonly cutAfter: number }
  | { readonly silentAfter: number }
  | { readonly takenEveryMs: number }
  | { readonly pieceBytes: number; readonly everyMs: number }
  | undefined

/**
 * An S3 on loopback, with a bucket. It checks the SHA-256 of all it is sent, and that addresses which are
 * signed have not expired; signatures it believes.
 * @param pageSize of lists
 */
export async function startS3(t: Test, { pageSize = 1000 } = {}) {
  const { buckets, uploads, perform } = openBuckets(pageSize)
  buckets.set(BUCKET, new Map())
  const calls: S3Call[] = []
  const answering = new Map<ServerResponse, string>()
  const s3 = {
    /** Calls that are not answered, or whose answers are not taken. */
    underWay: 0,
    /** Looked at when a call comes, before its body does. */
    interfere: (_call: S3Call): S3Interference | Promise<S3Interference> => undefined,
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const call = readCall(request)
    calls.push(call)
    s3.underWay++
    answering.set(response, call.key)
    response.once('close', () => {
      s3.underWay--
      answering.delete(response)
    })
    const interference = await s3.interfere(call)
    if (interference === 'reset') return response.destroy()
    const everyMs =
      typeof interference === 'object' && 'takenEveryMs' in interference
        ? interference.takenEveryMs
        : 0
    const body = await takeBody(request, everyMs)
    if (interference === 'silent') return undefined
    const answered = faultOf(call, body, interference) ?? perform({ ...call, body })
    if (interference === 'answer lost') return response.destroy()
    return send(call, response, answered, interference)
  }

  const server = createServer((request, response) => {
    // Who sends it may go away at any time.
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const env = {
    STORAGE_URL: `s3://${BUCKET}/${PREFIX}`,
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'secret of the test',
  }
  // The SDK reads them from the process.
  Object.assign(process.env, env)
  return Object.assign(s3, {
    env,
    buckets,
    /** Names of objects, below the prefix, to what is stored. */
    objects: () => buckets.get(BUCKET) as NonNullable<ReturnType<typeof buckets.get>>,
    uploads,
    calls,
    /** Breaks off all answers about an object. */
    cut(key: string) {
      for (const [response, of] of answering) if (of === key) response.destroy()
    },
    url: env.AWS_ENDPOINT_URL_S3,
  })
}
export type TestS3 = Awaited<ReturnType<typeof startS3>>

export const BUCKET = 'test-bucket'
export const PREFIX = 'some/prefix'

function readCall({ method = '', url = '', headers }: IncomingMessage): S3Call {
  const { pathname, searchParams: query } = new URL(url, 'http://s3')
  const [, bucket = '', ...words] = decodeURIComponent(pathname).split('/')
  const key = words.join('/')
  const operation = operationOf(method, key, query)
  return { operation, bucket, key, query, headers: headers as Record<string, string> }
}

function operationOf(method: string, key: string, query: URLSearchParams) {
  const inUpload = query.has('uploadId')
  if (!key) return query.has('uploads') ? 'ListMultipartUploads' : 'ListObjectsV2'
  if (method === 'GET') return inUpload ? 'ListParts' : 'GetObject'
  if (method === 'PUT') return inUpload ? 'UploadPart' : 'PutObject'
  if (method === 'DELETE') return inUpload ? 'AbortMultipartUpload' : 'DeleteObject'
  if (method === 'POST') return inUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload'
  return 'HeadObject'
}

function faultOf(
  { headers, query }: S3Call,
  body: Buffer,
  interference: S3Interference,
): S3Answer | undefined {
  if (typeof interference === 'object' && 'code' in interference) {
    return failed(interference.status, interference.code)
  }
  const signedAt = query.get('X-Amz-Date')?.replace(/^(.{4})(..)(..T..)(..)/, '$1-$2-$3:$4:')
  if (!headers['authorization'] && !signedAt) return failed(403, 'AccessDenied')
  const ends = Date.parse(signedAt ?? '') + Number(query.get('X-Amz-Expires')) * 1000
  if (ends < Date.now()) return failed(403, 'AccessDenied')
  const sha256 = headers['x-amz-content-sha256']
  const isOther = sha256 !== createHash('sha256').update(body).digest('hex')
  return !signedAt && isOther ? failed(400, 'XAmzContentSHA256Mismatch') : undefined
}

async function takeBody(request: AsyncIterable<Buffer>, everyMs: number) {
  const pieces: Buffer[] = []
  for await (const piece of request) {
    pieces.push(piece)
    if (everyMs > 0) await setTimeout(everyMs)
  }
  return Buffer.concat(pieces)
}

async function send(
  { operation }: S3Call,
  response: ServerResponse,
  { status, headers, body = '' }: S3Answer,
  interference: S3Interference,
) {
  const bytes = Buffer.from(body)
  response.writeHead(status, { ...headers, 'content-length': bytes.length })
  if (operation === 'HeadObject') return response.end()
  if (typeof interference !== 'object') return response.end(bytes)
  if ('cutAfter' in interference) {
    response.write(bytes.subarray(0, interference.cutAfter), () => response.destroy())
  } else if ('silentAfter' in interference) {
    response.write(bytes.subarray(0, interference.silentAfter))
  } else if ('pieceBytes' in interference) {
    for (let at = 0; at < bytes.length && !response.destroyed; at += interference.pieceBytes) {
      response.write(bytes.subarray(at, at + interference.pieceBytes))
      await setTimeout(interference.everyMs)
    }
    response.end()
  } else response.end(bytes)
  return undefined
}
