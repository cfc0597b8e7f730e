import { join, resolve } from 'node:path'
import { isWellFormedKey } from '../jobs/rules/access/api-key.ts'
import { METRICS, PLANS } from '../jobs/rules/org/plan.ts'
import type { ByPlan, Quotas } from '../jobs/rules/org/plan.ts'
import { POOLS } from '../workers/pool-names.ts'
import { adminCommand } from './admin-command.ts'
import { editDistance } from './edit-distance.ts'
import { concurrencyName, environment, quotaName } from './environment.ts'
import type { Environment } from './environment.ts'
import { readStorageUrl } from './storage/url.ts'
import type { StorageAddress } from './storage/url.ts'

/** The environment, and what follows from it. Folders are absolute. */
export type Config = Environment & {
  readonly storage: StorageAddress
  readonly SCRATCH_DIR: string
  readonly quotas: Quotas
  readonly uploadBytes: ByPlan
  /** Pool name to slots, of the pools whose concurrency the environment sets. */
  readonly concurrency: Readonly<Record<string, number>>
}

/** The environment is not as it should be; the message names every fault. */
export class ConfigError extends Error {}

/** Reads the environment once. @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { error, value } = environment.validate(given, {
    abortEarly: false,
    errors: { wrap: { label: false } },
  })
  const faults = [...(error?.details.map(({ message }) => message) ?? []), ...misspelt(given)]
  if (faults.length > 0) throw new ConfigError(`Environment: ${faults.join('; ')}.`)
  const read = value as Environment
  const dataDir = resolve(read.DATA_DIR)
  const storage = readStorage(read, dataDir, given)
  const fault = faultOfInitKey(read) ?? faultOfRedirects(read, storage)
  if (fault) throw new ConfigError(fault)
  return Object.freeze({
    ...read,
    DATA_DIR: dataDir,
    storage,
    SCRATCH_DIR: resolve(read.SCRATCH_DIR ?? join(dataDir, 'scratch')),
    quotas: readQuotas(read),
    uploadBytes: byPlan(read.QUOTA_STORED_UPLOAD_BYTES),
    concurrency: readConcurrency(read),
  })
}

/** Variables whose names are so close to one of ours that they are meant to be it. */
function misspelt(env: NodeJS.ProcessEnv) {
  const ours = Object.keys(environment.describe().keys as object)
  return Object.keys(env).flatMap((name) => {
    if (ours.includes(name)) return []
    const meant = ours.find((known) => editDistance(name, known) <= allowedTypos(known))
    return meant ? [`${name} is unknown; ${meant} is probably meant`] : []
  })
}

/** Short names are near to many others that are none of our business. */
const allowedTypos = (name: string) => (name.length < 8 ? 1 : 2)

function faultOfInitKey({ INIT_API_KEY, KEY_PREFIX }: Environment) {
  if (INIT_API_KEY === undefined || isWellFormedKey(KEY_PREFIX, INIT_API_KEY)) return undefined
  return `INIT_API_KEY is not a well-formed key, which is ${KEY_PREFIX}sk_ with 38 letters and digits, the last 6 of them a checksum. Make one with: ${adminCommand('key make')}`
}

/** A custom endpoint, which the SDK itself takes from these variables, is reached by path. */
function readStorage(
  { STORAGE_URL }: Environment,
  dataDir: string,
  { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3 }: NodeJS.ProcessEnv,
): StorageAddress {
  if (!STORAGE_URL) return { kind: 'folder', folder: join(dataDir, 'storage') }
  return readStorageUrl(STORAGE_URL, (AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL) !== undefined)
}

function faultOfRedirects(
  { STORAGE_REDIRECT_SECONDS }: Environment,
  { kind }: StorageAddress,
): string | undefined {
  if (STORAGE_REDIRECT_SECONDS === undefined || kind === 's3') return undefined
  return 'STORAGE_REDIRECT_SECONDS needs a STORAGE_URL of s3://BUCKET: a folder has no addresses'
}

function readQuotas(read: Environment) {
  return Object.fromEntries(
    METRICS.map((metric) => [metric, byPlan(read[quotaName(metric)])]),
  ) as Quotas
}

function byPlan(numbers: string) {
  const limits = numbers.split(',').map(Number)
  return Object.fromEntries(PLANS.map((plan, i) => [plan, limits[i]])) as ByPlan
}

function readConcurrency(read: Environment) {
  return Object.fromEntries(
    POOLS.flatMap((pool) => {
      const slots = read[concurrencyName(pool)]
      return slots === undefined ? [] : [[pool, slots]]
    }),
  )
}
