import { S3Client } from '@aws-sdk/client-s3'
import type { S3ServiceException } from '@aws-sdk/client-s3'

/** A client whose endpoint, region and credentials are those that the SDK finds by its own variables. */
export function openS3Client(pathStyle: boolean): S3Client {
  // Each download that somebody reads slowly holds a socket, and must not keep others from theirs.
  const agent = { keepAlive: true, maxSockets: Infinity }
  return new S3Client({
    forcePathStyle: pathStyle,
    retryMode: 'standard',
    maxAttempts: MAX_TRIES,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: TRY_MS,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
    // It would open a connection for each part, to save sending one that is refused.
    expectContinueHeader: false,
    // Each body is signed with its SHA-256, which every server checks. Some know no checksums besides.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
}

/** A bucket, and the names that its objects have for the keys of stored files. */
export interface Bucket {
  readonly client: S3Client
  /** Of the bucket and an object, as all commands take them. */
  at(key: string): { readonly Bucket: string; readonly Key: string }
  readonly name: string
  readonly prefix: string
}

/** There is no such object, or no such upload; after HEAD perhaps no bucket, which its answer does not tell. */
export function isMissing(error: unknown) {
  return statusOf(error) === 404 && (error as Partial<Error>).name !== 'NoSuchBucket'
}

/** The object is not as the request demanded, or another request is changing it. */
export function isConflict(error: unknown) {
  return statusOf(error) === 412 || statusOf(error) === 409
}

/** What is asked for is not there, or is not as the request demanded. */
export function isRefused(error: unknown) {
  return isMissing(error) || isConflict(error)
}

/** What an answer is, or undefined where its error is an expected one. */
export async function unless<T>(
  isExpected: (error: unknown) => boolean,
  answer: Promise<T>,
): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (isExpected(error)) return undefined
    throw error
  })
}

/** The object ends before where the range begins. */
export function isPastEnd(error: unknown) {
  return statusOf(error) === 416
}

/** What the server or the SDK says. The names of their errors say more than many of their messages. */
export function explain(error: Error) {
  const { message, name } = error
  if (name === 'Error' || message.includes(name)) return message
  return message && message !== name ? `${name}: ${message}` : name
}

function statusOf(error: unknown) {
  return (error as Partial<S3ServiceException>).$metadata?.httpStatusCode
}

/** With the waits between them, some 1.5 s of answers of 500 or 503. */
const MAX_TRIES = 6
const CONNECT_MS = 3000
/** Until an answer begins. A request whose connection is dead is sent again over another one. */
const TRY_MS = 5000
