// The whole service on one machine, as `npm start` runs it: database, API and workers, each a process.
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { openDatabase } from '../sql/core/db.ts'
import { checkAddress } from './address.ts'
import { openChildLog } from './child-log.ts'
import { keepRunning } from './children.ts'
import type { Child, ChildOptions } from './children.ts'
import { readConfig } from './config.ts'
import { POOLS } from '../workers/pool-names.ts'
import type { PoolName } from '../workers/pool-names.ts'
import type { Config } from './config.ts'
import { keepPostgres } from './embedded.ts'
import { ensureFirstOrganization } from './first-organization.ts'
import type { FirstOrganization } from './first-organization.ts'
import { prepareDatabase } from './migrate.ts'
import { checkPatches } from './patches.ts'
import { keepFilesPrivate, makePassable } from './private-files.ts'
import { sentenceOf } from './process.ts'
import { renderScreen } from './screen.ts'
import { seedWhenWanted } from './seed.ts'
import { makeSignInLink } from './sign-in-link.ts'
import { aborted, endWithin, listenForStop, unlessAborted } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'

async function main() {
  const opened = new AsyncDisposableStack()
  const children: Child[] = []
  const failed = new AbortController()
  const stop = listenForStop(() => {
    say('Ending everything at once.')
    children.forEach((child) => child.kill())
  })
  try {
    const end = AbortSignal.any([stop.signal, failed.signal])
    checkPatches()
    keepFilesPrivate()
    const config = readConfig()
    await startAll({ config, opened, children, end, fail: (error) => failed.abort(error) })
    await aborted(end)
    end.throwIfAborted()
  } catch (error) {
    if (!stop.signal.aborted) reportFailure(error)
  } finally {
    if (children.length > 0) say('Stopping.')
    await opened.disposeAsync()
    stop.release()
    endWithin(LINGER_MS)
  }
}

async function startAll(service: Service) {
  const { config, end } = service
  say(`Starting; everything is kept in ${config.DATA_DIR}.`)
  makeDataDir(config)
  await checkAddress(config)
  const url = await openServer(service)
  end.throwIfAborted()
  await prepareDatabase(url, { warn: (_, message) => say(message) }, end)
  end.throwIfAborted()
  const organization = await openFirstOrganization(config, url)
  const local = await startChildren(service, url)
  const { dataset, finish } = await seedWhenWanted({
    config,
    organization,
    address: local,
    url,
    say,
    end,
  })
  const address = config.PUBLIC_URL ?? local
  process.stdout.write(
    renderScreen({
      address,
      console: (await makeLink(url, local, organization)) ?? `${address}/console`,
      dataDir: config.DATA_DIR,
      organization: organization.id,
      key: organization.key,
      dataset,
    }),
  )
  await finish()
}

function makeDataDir({ DATA_DIR }: Config) {
  try {
    makePassable(DATA_DIR)
    accessSync(DATA_DIR, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new OperatorError(
      `The data folder ${DATA_DIR} cannot be used (${messageOf(error)}). Make it a folder this user may write to, or set DATA_DIR to another one.`,
    )
  }
}

/** Address of the database server: the one named, or an embedded one that runs as long as we do. */
async function openServer({ config, opened, end }: Service) {
  if (config.DATABASE_URL) return config.DATABASE_URL
  const server = await keepPostgres(config, say, end)
  opened.defer(() => server.stop())
  return server.url
}

async function openFirstOrganization(config: Config, url: string) {
  const sql = openDatabase(url, { max: 1, pooled: true })
  try {
    return await ensureFirstOrganization(sql, config)
  } finally {
    await sql.end()
  }
}

/** The link that signs the operator in; undefined where this start does not know the key. */
async function makeLink(url: string, address: string, { key }: FirstOrganization) {
  if (key === undefined) return undefined
  const sql = openDatabase(url, { max: 1, pooled: true })
  try {
    return await makeSignInLink(sql, address, key)
  } finally {
    await sql.end()
  }
}

/** Starts the workers and the API, and returns the API's address once all are ready. */
async function startChildren(service: Service, url: string) {
  say('Starting the API and the workers.')
  const workers = WORKERS.map((pools) =>
    startChild(service, url, {
      name: `workers of ${pools.join(' and ')}`,
      script: 'start-workers.ts',
      args: ['--pool', pools.join(',')],
    }),
  )
  // Stopped in the opposite order: the API first, so that nothing new comes in.
  service.opened.defer(async () => {
    await Promise.all(workers.map((worker) => worker.stop(graceMs(service.config))))
  })
  const api = startChild(service, url, { name: 'API', script: 'start-api.ts' })
  service.opened.defer(() => api.stop(graceMs(service.config)))
  const [address] = await unlessAborted(
    Promise.all([api, ...workers].map(({ ready }) => ready)),
    service.end,
  )
  return address as string
}

function startChild(
  { config, children, fail }: Service,
  url: string,
  options: Pick<ChildOptions, 'name' | 'script' | 'args'>,
) {
  const file = options.name.replaceAll(' ', '-').toLowerCase()
  const minLevel = config.LOG_LEVEL ? 0 : WARN
  const healthPort = config.HEALTH_PORT && config.HEALTH_PORT + children.length
  const child = keepRunning({
    ...options,
    // An API that took a free port keeps it when it is started again.
    env: (address) => ({
      // With what was compiled at the last start, a process is ready in two thirds of the time.
      NODE_COMPILE_CACHE: join(config.DATA_DIR, 'compile-cache'),
      ...process.env,
      DATABASE_URL: url,
      DATA_DIR: config.DATA_DIR,
      PORT: address ? new URL(address).port : String(config.PORT),
      ...(healthPort && { HEALTH_PORT: String(healthPort) }),
    }),
    log: openChildLog(join(config.DATA_DIR, 'logs'), file, minLevel, say),
    say,
    giveUp: fail,
  })
  children.push(child)
  return child
}

function reportFailure(error: unknown) {
  process.exitCode = 1
  const sentence = sentenceOf(error)
  if (sentence === undefined) throw error
  process.stderr.write(`${sentence}\n`)
}

/** One line of progress, with the seconds since the start. */
function say(sentence: string) {
  const seconds = process.uptime().toFixed(1).padStart(6)
  process.stdout.write(`${seconds} s  ${sentence}\n`)
}

function graceMs({ DRAIN_DELAY_SECONDS, DRAIN_SECONDS }: Config) {
  return (DRAIN_DELAY_SECONDS + DRAIN_SECONDS) * 1000 + LINGER_MS
}

/** A process each: importing and building take memory, and neither may slow the other or the rest. */
const OWN_PROCESS: readonly PoolName[] = ['import', 'datasets']
const WORKERS = [
  ...OWN_PROCESS.map((pool) => [pool]),
  POOLS.filter((pool) => !OWN_PROCESS.includes(pool)),
]
/** What a process takes to end beyond its grace for jobs and requests. */
const LINGER_MS = 8000
/** pino's number of the level. */
const WARN = 40

interface Service {
  readonly config: Config
  /** What is to be closed at the end, last opened first. */
  readonly opened: AsyncDisposableStack
  readonly children: Child[]
  /** Aborted when the service is to end, by a signal or because it has failed. */
  readonly end: AbortSignal
  readonly fail: (error: OperatorError) => void
}

await main()
