import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the files of an installation are kept. */
export type StorageAddress =
  | { readonly kind: 'folder'; readonly folder: string }
  | {
      readonly kind: 's3'
      readonly bucket: string
      /** What all names of objects begin with: empty, or ending in a slash. */
      readonly prefix: string
      /** `/bucket/object` at the host, instead of the bucket in the host's name. */
      readonly pathStyle: boolean
    }

/**
 * @param pathStyle where buckets have no names of hosts, as at most endpoints that are not of AWS
 * @throws Error whose message says what an address is
 */
export function readStorageUrl(url: string, pathStyle = false): StorageAddress {
  const [, bucket, path = ''] = S3.exec(url) ?? []
  if (bucket !== undefined) return { kind: 's3', bucket, prefix: path && `${path}/`, pathStyle }
  if (!url.startsWith('file:///') || !URL.canParse(url)) throw new Error(WANTED)
  return { kind: 'folder', folder: resolve(fileURLToPath(url)) }
}

/** The names of buckets are those of AWS; a prefix is made of words without a dot at the start. */
const S3 =
  /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)*))?\/?$/
const WANTED =
  'must be file:///FOLDER, or s3://BUCKET or s3://BUCKET/PREFIX with a prefix of letters, digits, dots, hyphens, underscores and slashes; the AWS SDK reads endpoint, region and credentials from variables of its own'
