import type { Request, ResponseToolkit } from '@hapi/hapi'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { headerOf } from './header.ts'

/** A file that is the same for everybody. It is compressed once for each encoding, when first asked for. */
export interface StaticFile {
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** The SHA-256 of the bytes. */
  readonly hash: string
  /** The bytes in an encoding. */
  in(encoding: Encoding): Promise<Buffer>
}

/** @param headers of its answers, besides those of every file */
export function staticFile(
  type: string,
  bytes: Buffer,
  headers: Record<string, string> = {},
): StaticFile {
  const encoded = {
    br: once(() => promisify(brotliCompress)(bytes, BROTLI)),
    gzip: once(() => promisify(gzip)(bytes)),
    identity: once(async () => bytes),
  }
  return {
    type,
    headers,
    hash: createHash('sha256').update(bytes).digest('base64url'),
    in: (encoding) => encoded[encoding](),
  }
}

/** Answers with a file as the client likes it best; 304 when it has it already. */
export async function answerFile(file: StaticFile, request: Request, h: ResponseToolkit) {
  const encoding = bestEncoding(headerOf(request, 'accept-encoding') ?? '')
  const answer = h
    .response(await file.in(encoding))
    .type(file.type)
    .vary('Accept-Encoding')
  // What is the same in two encodings is not the same byte for byte.
  answer.etag(`${file.hash}-${encoding}`, { weak: false, vary: false })
  for (const [name, value] of Object.entries(file.headers)) answer.header(name, value)
  // hapi compresses no more of what it is told is compressed, or not to be.
  request.info.acceptEncoding = 'identity'
  return encoding === 'identity' ? answer : answer.compressed(encoding)
}

/** Makes something at its first use. What failed is tried again at the next one. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
}

function bestEncoding(accepted: string): Encoding {
  const parts = accepted.toLowerCase().split(',')
  const accepts = (encoding: Encoding) =>
    parts.some((part) => {
      const [name, quality = ''] = part.split(';')
      return name?.trim() === encoding && !/^ *q=0(\.0*)? *$/.test(quality)
    })
  return (['br', 'gzip'] as const).find(accepts) ?? 'identity'
}

/** Higher qualities take ten times as long for a tenth. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

type Encoding = 'br' | 'gzip' | 'identity'
