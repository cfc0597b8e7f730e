import Joi from 'joi'
import { readRanges } from '../api/client-address.ts'
import { parseNetworks } from '../jobs/rules/core/outbound-address.ts'
import { HUB_TOKEN, readHubUrl } from '../jobs/rules/datasets/hub/address.ts'
import { DEFAULT_QUOTAS, METRICS, PLANS, UPLOAD_BYTES } from '../jobs/rules/org/plan.ts'
import type { ByPlan, Metric } from '../jobs/rules/org/plan.ts'
import { int, oneOf, shape } from '../jobs/shape.ts'
import type { Valid } from '../jobs/shape.ts'
import { POOLS } from '../workers/pool-names.ts'
import type { PoolName } from '../workers/pool-names.ts'
import { readStorageUrl } from './storage/url.ts'

export const quotaName = (metric: Metric) => `QUOTA_${metric.toUpperCase()}` as QuotaName
export const concurrencyName = (pool: PoolName) =>
  `POOL_CONCURRENCY_${pool.toUpperCase()}` as ConcurrencyName
type QuotaName = `QUOTA_${Uppercase<Metric>}`
type ConcurrencyName = `POOL_CONCURRENCY_${Uppercase<PoolName>}`

const concurrencies = Object.fromEntries(
  POOLS.map((pool) => [
    concurrencyName(pool),
    int(1, 64).description(`Jobs of each queue of pool ${pool} that one process runs at once`),
  ]),
) as Record<ConcurrencyName, Joi.NumberSchema>

const quotas = Object.fromEntries(
  METRICS.map((metric) => [quotaName(metric), quota(metric)]),
) as Record<QuotaName, ReturnType<typeof quota>>

/** Every environment variable the project reads; the descriptions are its documentation. */
export const environment = shape(
  {},
  {
    PORT: int(0, 65_535).default(3000).description('Port of the API; 0 takes a free one'),
    HOST: Joi.string().hostname().default('127.0.0.1').description('Address the API listens on'),
    PUBLIC_URL: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .description(
        'Address clients reach the API at, when it differs from HOST and PORT; runners of replays are told it too',
      ),
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
    MAX_CONNECTIONS: int(10, 100_000)
      .default(10_000)
      .description(
        'Connections that one API process holds; near it, those idle the longest are ended',
      ),
    MAX_CONNECTIONS_PER_ADDRESS: int(1, 100_000)
      .default(256)
      .description(
        'Connections of one client address to one API process; trusted proxies may have any number',
      ),
    DATABASE_URL: Joi.string()
      .uri({ scheme: ['postgres', 'postgresql'] })
      .description('PostgreSQL 15 or newer; without it an embedded PostgreSQL 18 under DATA_DIR'),
    DATABASE_READ_URL: Joi.string()
      .uri({ scheme: ['postgres', 'postgresql'] })
      .description(
        'One standby of the database, which API processes read lists, stats, comparisons and exports from once it shows what was committed before; default none. It has as many connections for reading as the database itself',
      ),
    DATABASE_AUTH_CONNECTIONS: int(1, 100)
      .default(2)
      .description('Connections of an API process for looking up credentials'),
    DATABASE_READ_CONNECTIONS: int(1, 1000)
      .default(8)
      .description(
        'Connections of an API process for reading rows and lists; statements up to 5 s',
      ),
    DATABASE_AGGREGATE_CONNECTIONS: int(1, 1000)
      .default(2)
      .description('Connections of an API process for counts and sums; statements up to 15 s'),
    DATABASE_COMPARE_CONNECTIONS: int(1, 1000)
      .default(2)
      .description(
        'Connections of an API process for comparing versions of datasets; statements up to 60 s',
      ),
    DATABASE_WRITE_CONNECTIONS: int(1, 1000)
      .default(8)
      .description('Connections of an API process for writing; statements up to 30 s'),
    DATABASE_WAIT_SECONDS: int(1, 60)
      .default(2)
      .description('How long a request waits for a connection before it is answered 503'),
    DATA_DIR: Joi.string()
      .default('.data')
      .description('Folder of the embedded database, stored files, scratch files and logs'),
    STORAGE_URL: Joi.string()
      .custom((url: string) => readStorageUrl(url) && url)
      .messages({ 'any.custom': '{{#label}} {{#error.message}}' })
      .description(
        'Where uploads and dataset files are kept, by all processes of all machines: file:///FOLDER or s3://BUCKET/PREFIX; default a folder under DATA_DIR. The AWS SDK reads AWS_REGION, AWS_ENDPOINT_URL_S3, credentials and its other variables itself',
      ),
    STORAGE_REDIRECT_SECONDS: int(1, 3600).description(
      'Exports of one stored file are answered with a redirect to S3, by an address that holds for so many seconds; default none, exports come through the API',
    ),
    SCRATCH_DIR: Joi.string().description(
      'Folder on a disk of the machine for files that do not outlive their process; default one under DATA_DIR',
    ),
    KEY_PREFIX: Joi.string()
      .pattern(/^[a-z][a-z0-9]{0,14}_$/, 'lower-case word ending in _')
      .default('svc_')
      .description('API keys begin with this, followed by sk_'),
    INIT_API_KEY: Joi.string().description(
      'Raw global admin key of an organization that is made where there is none; without it npm start makes one with a generated key, and other processes make none',
    ),
    SEED: oneOf('demo', 'none').description(
      'demo fills the first organization with sample data for every page of the console; default demo on an empty embedded database, else none',
    ),
    POOL: Joi.string()
      .pattern(/^[a-z]+(,[a-z]+)*$/, 'comma-separated pool names')
      .description(`Pools a worker process runs, of ${POOLS.join(', ')}; default all`),
    ...concurrencies,
    ...quotas,
    QUOTA_STORED_UPLOAD_BYTES: byPlan(UPLOAD_BYTES).description(
      `Bytes of uploads whose imports have not ended, at the same time: those of ${PLANS.join(', ')}`,
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
        'CIDR ranges, separated by commas, of private addresses that webhooks, runners of replays and platforms that traces are pulled from may nevertheless have, the last two over plain http too; default none',
      ),
    WEBHOOK_RETRY_SCHEDULE: Joi.string()
      .pattern(/^\d{1,6}(,\d{1,6})*$/, 'seconds separated by commas')
      .default('30,300')
      .description('Seconds before the second and the third attempt at regression.detected'),
    OUTBOUND_CA_FILE: Joi.string().description(
      'PEM file of a certificate authority that webhook receivers, runners and platforms may use besides the public ones',
    ),
    MASTER_KEY: Joi.string()
      .hex()
      .length(64)
      .description(
        'Key that stored secrets are sealed with, 32 bytes as hex; default one kept in DATA_DIR. Set it when processes run on several machines',
      ),
    MASTER_KEY_PREVIOUS: Joi.string()
      .hex()
      .length(64)
      .description(
        'The key before MASTER_KEY: secrets sealed with it can still be opened, until secrets rewrap has sealed them anew; default none',
      ),
    HUB_URL: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .custom((url: string) => readHubUrl(url))
      .default('https://huggingface.co')
      .description('Hub that dataset versions are pushed to; plain http on loopback only'),
    HUB_TOKEN: Joi.string()
      .pattern(HUB_TOKEN)
      // The usual message repeats the value.
      .messages({ 'string.pattern.base': '{{#label}} must be visible ASCII without spaces' })
      .description(
        'Token of the hub for pushes whose request brings none, by whatever organization; default none',
      ),
    LIST_COUNT_MS: int(1, 30_000)
      .default(50)
      .description(
        'Milliseconds in which the traces of a list are counted; where that takes longer `total` is null',
      ),
    OTLP_IDLE_SECONDS: int(1, 86_400)
      .default(600)
      .description(
        'Seconds without a span after which a trace that is sent over OTLP and whose outermost span did not come is partial',
      ),
    TRACES_KEPT_DAYS: int(31, 36_500).description(
      'Days for which traces are kept, with all that belongs to them. They are dropped by whole months, once the last one of the month came so long ago; default for ever',
    ),
    PAYMENT_PROCESSOR: oneOf('stripe')
      .default('stripe')
      .description('Whose payment webhooks are received, under /api/v1/webhooks/<name>'),
    PAYMENT_WEBHOOK_SECRET: Joi.string()
      .pattern(/^[^\s,]+(,[^\s,]+)*$/)
      // The usual message repeats the value. With an empty secret anybody could sign.
      .messages({
        'string.pattern.base':
          '{{#label}} must be secrets separated by commas, without spaces and none of them empty',
      })
      .description(
        'Signing secrets of the payment webhooks, separated by commas; without one they answer 501',
      ),
    PAYMENT_LIVEMODE: Joi.boolean()
      .default(false)
      .description('Payment events of the other mode are stored and ignored'),
    DRAIN_SECONDS: int(0, 3600)
      .default(20)
      .description('Time a stopping process gives its running jobs and requests'),
    DRAIN_DELAY_SECONDS: int(0, 300)
      .default(0)
      .description(
        'Time for which a process that was asked to stop goes on serving while /readyz fails, so that load balancers turn away from it first',
      ),
    OTEL_EXPORTER_OTLP_ENDPOINT: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .description(
        'Collector (OTLP over HTTP) that spans are sent to; default none. The SDK reads OTEL_SERVICE_NAME and its other variables itself',
      ),
    OTEL_TRACES_SAMPLER_ARG: Joi.number()
      .min(0)
      .max(1)
      .default(1)
      .description('Share of the traces that are sent, of those that begin here'),
    LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').description(
      'Least level of the JSON lines on standard error; default info. npm start shows warn and above and writes all to DATA_DIR/logs',
    ),
  },
)

/** What the environment says: variables without a default are absent when it does not set them. */
export type Environment = Readonly<Valid<typeof environment>>

function quota(metric: Metric) {
  return byPlan(DEFAULT_QUOTAS[metric]).description(
    `Monthly quota of ${metric}: that of ${PLANS.join(', ')}`,
  )
}

function byPlan(defaults: ByPlan) {
  return Joi.string()
    .pattern(/^\d{1,15}(,\d{1,15}){3}$/, 'four numbers separated by commas')
    .default(PLANS.map((plan) => defaults[plan]).join(','))
}
