import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import Joi from 'joi'
import { readRanges } from '../api/client-address.ts'
import { isWellFormedKey } from '../jobs/rules/api-key.ts'
import { parseNetworks } from '../jobs/rules/outbound-address.ts'
import { DEFAULT_QUOTAS, METRICS, PLANS } from '../jobs/rules/plan.ts'
import type { Metric, Quotas } from '../jobs/rules/plan.ts'
import { int, oneOf, shape } from '../jobs/shape.ts'
import type { Valid } from '../jobs/shape.ts'
import { editDistance } from './edit-distance.ts'

/**
 * The pools of `workers/pools.ts`. Named here as well, so that reading the environment does not load
 * what the handlers need.
 */
export const POOLS = [
  'import',
  'evals',
  'regression',
  'datasets',
  'webhooks',
  'maintenance',
] as const

const quotaName = (metric: Metric) => `QUOTA_${metric.toUpperCase()}`
const concurrencyName = (pool: string) => `POOL_CONCURRENCY_${pool.toUpperCase()}`

/** Every environment variable the project reads; the descriptions are its documentation. */
export const environment = shape(
  {},
  {
    PORT: int(0, 65_535).default(3000).description('Port of the API; 0 takes a free one'),
    HOST: Joi.string().hostname().default('127.0.0.1').description('Address the API listens on'),
    PUBLIC_URL: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .description('Address clients reach the API at, when it differs from HOST and PORT'),
    HEALTH_PORT: int(1, 65_535).description(
      'Port of the internal listener of the process: /livez, /readyz, /metrics, /autoscale; default none. npm start counts up from it, one port a process',
    ),
    HEALTH_HOST: Joi.string()
      .hostname()
      .default('127.0.0.1')
      .description('Address of the internal listener'),
    TRUSTED_PROXIES: Joi.string()
      .allow('')
      .custom((ranges: string) => readRanges(ranges) && ranges)
      .default('')
      .description(
        'Addresses and CIDR ranges, separated by commas, of proxies whose X-Forwarded-For tells the client address; default none',
      ),
    DATABASE_URL: Joi.string()
      .uri({ scheme: ['postgres', 'postgresql'] })
      .description('PostgreSQL 15 or newer; without it an embedded PostgreSQL 18 under DATA_DIR'),
    DATA_DIR: Joi.string()
      .default('.data')
      .description('Folder of the embedded database, stored files, scratch files and logs'),
    STORAGE_URL: Joi.string()
      .pattern(/^file:\/\/\//, 'file:/// address')
      .description('Where uploads and dataset files are kept; default a folder under DATA_DIR'),
    KEY_PREFIX: Joi.string()
      .pattern(/^[a-z][a-z0-9]{0,14}_$/, 'lower-case word ending in _')
      .default('svc_')
      .description('API keys begin with this, followed by sk_'),
    INIT_API_KEY: Joi.string().description(
      'Raw global admin key of the first organization; generated when absent',
    ),
    SEED: oneOf('demo', 'none').description(
      'demo fills the first organization with sample traces, scores and datasets; default demo on an empty embedded database, else none',
    ),
    POOL: Joi.string()
      .pattern(/^[a-z]+(,[a-z]+)*$/, 'comma-separated pool names')
      .description(`Pools a worker process runs, of ${POOLS.join(', ')}; default all`),
    ...Object.fromEntries(
      POOLS.map((pool) => [
        concurrencyName(pool),
        int(1, 64).description(`Jobs of each queue of pool ${pool} that one process runs at once`),
      ]),
    ),
    ...Object.fromEntries(
      METRICS.map((metric) => [
        quotaName(metric),
        Joi.string()
          .pattern(/^\d{1,15}(,\d{1,15}){3}$/, 'four numbers separated by commas')
          .default(PLANS.map((plan) => DEFAULT_QUOTAS[metric][plan]).join(','))
          .description(`Monthly quota of ${metric}: that of ${PLANS.join(', ')}`),
      ]),
    ),
    SMTP_URL: Joi.string()
      .uri({ scheme: ['smtp', 'smtps'] })
      .description(
        'Mail server for security alerts, with credentials; without it they are only recorded',
      ),
    MAIL_FROM: Joi.string()
      .max(256)
      .default('Agent Dataset Lifecycle <no-reply@localhost>')
      .description('Sender of mails'),
    OUTBOUND_ALLOW_CIDRS: Joi.string()
      .allow('')
      .custom((networks: string) => parseNetworks(networks) && networks)
      .default('')
      .description(
        'CIDR ranges, separated by commas, of private addresses that webhooks may nevertheless reach; default none',
      ),
    WEBHOOK_RETRY_SCHEDULE: Joi.string()
      .pattern(/^\d{1,6}(,\d{1,6})*$/, 'seconds separated by commas')
      .default('30,300')
      .description('Seconds before the second and the third attempt at regression.detected'),
    WEBHOOK_CA_FILE: Joi.string().description(
      'PEM file of a certificate authority that webhook receivers may use besides the public ones',
    ),
    MASTER_KEY: Joi.string()
      .hex()
      .length(64)
      .description(
        'Key that stored secrets are sealed with, 32 bytes as hex; default one kept in DATA_DIR. Set it when processes run on several machines',
      ),
    PAYMENT_PROCESSOR: oneOf('stripe')
      .default('stripe')
      .description('Whose payment webhooks are received, under /api/v1/webhooks/<name>'),
    PAYMENT_WEBHOOK_SECRET: Joi.string().description(
      'Signing secrets of the payment webhooks, separated by commas; without one they answer 501',
    ),
    PAYMENT_LIVEMODE: Joi.boolean()
      .default(false)
      .description('Payment events of the other mode are stored and ignored'),
    DRAIN_SECONDS: int(0, 3600)
      .default(20)
      .description('Time a stopping process gives its running jobs and requests'),
    LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').description(
      'Least level of the JSON lines on standard error; default info. npm start shows warn and above and writes all to DATA_DIR/logs',
    ),
  },
)

export interface Config {
  readonly PORT: number
  readonly HOST: string
  readonly PUBLIC_URL?: string
  readonly HEALTH_PORT?: number
  readonly HEALTH_HOST: string
  readonly TRUSTED_PROXIES: string
  readonly DATABASE_URL?: string
  /** Absolute. */
  readonly DATA_DIR: string
  readonly STORAGE_DIR: string
  readonly KEY_PREFIX: string
  readonly INIT_API_KEY?: string
  readonly SEED?: 'demo' | 'none'
  readonly POOL?: string
  readonly SMTP_URL?: string
  readonly MAIL_FROM: string
  readonly OUTBOUND_ALLOW_CIDRS: string
  readonly WEBHOOK_RETRY_SCHEDULE: string
  readonly WEBHOOK_CA_FILE?: string
  readonly MASTER_KEY?: string
  readonly PAYMENT_PROCESSOR: string
  readonly PAYMENT_WEBHOOK_SECRET?: string
  readonly PAYMENT_LIVEMODE: boolean
  readonly DRAIN_SECONDS: number
  /** Undefined when nobody chose one. */
  readonly LOG_LEVEL?: NonNullable<Environment['LOG_LEVEL']>
  readonly quotas: Quotas
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
  const read = value as Environment & Pick<Config, Defaulted>
  const fault = faultOfInitKey(read)
  if (fault) throw new ConfigError(fault)
  const dataDir = resolve(read.DATA_DIR)
  return Object.freeze({
    ...read,
    DATA_DIR: dataDir,
    STORAGE_DIR: read.STORAGE_URL ? fileURLToPath(read.STORAGE_URL) : resolve(dataDir, 'storage'),
    quotas: readQuotas(value as Record<string, unknown>),
    concurrency: readConcurrency(value as Record<string, unknown>),
  }) as Config
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

function faultOfInitKey({ INIT_API_KEY, KEY_PREFIX }: Environment & Pick<Config, Defaulted>) {
  if (INIT_API_KEY === undefined || isWellFormedKey(KEY_PREFIX, INIT_API_KEY)) return undefined
  return `INIT_API_KEY is not a well-formed key, which is ${KEY_PREFIX}sk_ with 38 letters and digits, the last 6 of them a checksum. Make one with: node ops/admin.ts key make`
}

function readQuotas(value: Record<string, unknown>) {
  const byPlan = (numbers: string) =>
    Object.fromEntries(numbers.split(',').map((limit, i) => [PLANS[i], Number(limit)]))
  return Object.fromEntries(
    METRICS.map((metric) => [metric, byPlan(value[quotaName(metric)] as string)]),
  ) as Quotas
}

function readConcurrency(value: Record<string, unknown>) {
  return Object.fromEntries(
    POOLS.flatMap((pool) => {
      const slots = value[concurrencyName(pool)] as number | undefined
      return slots === undefined ? [] : [[pool, slots]]
    }),
  )
}

type Defaulted =
  | 'PORT'
  | 'HOST'
  | 'HEALTH_HOST'
  | 'TRUSTED_PROXIES'
  | 'DATA_DIR'
  | 'KEY_PREFIX'
  | 'MAIL_FROM'
  | 'OUTBOUND_ALLOW_CIDRS'
  | 'WEBHOOK_RETRY_SCHEDULE'
  | 'PAYMENT_PROCESSOR'
  | 'PAYMENT_LIVEMODE'
  | 'DRAIN_SECONDS'
type Environment = Valid<typeof environment>
