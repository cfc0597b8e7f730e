import { execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inPlainWords, missing, clusterError } from './postgres-error.ts'
import {
  findProgram,
  findUser,
  locate,
  placeCluster,
  runAs,
  tellingLines,
} from './postgres-host.ts'
import type { Host, Program } from './postgres-host.ts'
import { findLockOwner, lockFile } from './file-lock.ts'
import { findFreePort } from './free-port.ts'

export interface EmbeddedPostgres {
  /** Connection string of the default database. */
  readonly url: string
  /** Folder the cluster really is in: below `stagingDir` when it had to be staged. */
  readonly dataDir: string
  /** Stops the postmaster (fast shutdown) and waits until it is gone. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL on 127.0.0.1 and waits until it accepts connections, also while it recovers from a
 * crash: replaying up to `max_wal_size` takes minutes on a slow disk. A postmaster that a killed
 * process left behind is adopted and keeps its port and settings. One live process owns a folder at
 * a time and a second one is refused; only detached users share it.
 *
 * As root it runs as the owner of the folder, or else as the OS user postgres, created if absent.
 * What that user cannot reach is staged, and a link at `dataDir` leads to the staged cluster.
 * @throws PostgresError
 */
export async function startPostgres(options: {
  /** Folder of the cluster; created and initialised when it does not exist. */
  dataDir: string
  /** TCP port on 127.0.0.1; default a free one. */
  port?: number
  /** true: the postmaster outlives this process and others may start it too; default false. */
  detached?: boolean
  /** Server settings over the default ones, for example `{ fsync: 'off' }`. */
  settings?: Readonly<Record<string, string>>
  /** Where root keeps what the OS user cannot reach; default /var/lib/agent-dataset-lifecycle. */
  stagingDir?: string
  /** Called with plain sentences about what is being done, and where. */
  say?: (sentence: string) => void
  /** Aborted when the database is no longer wanted: what is starting is stopped, and the reason thrown. */
  signal?: AbortSignal
}): Promise<EmbeddedPostgres> {
  const { dataDir, detached = false, stagingDir = STAGING_DIR, say = () => {} } = options
  return inPlainWords(dataDir, async () => {
    const host = { user: await findUser(dataDir), stagingDir, say }
    const program = await findProgram(host)
    const clusterDir = await placeCluster(dataDir, host)
    const release = await takeOwnership(clusterDir, detached ? SHARED_START_MS : 0)
    try {
      const { pid, port } =
        (await adopt({ ...options, say, clusterDir })) ??
        (await launch({ ...options, ...host, program, clusterDir }))
      if (detached) release()
      let stopped: Promise<void> | undefined
      const stop = () => (stopped ??= stopPostmaster(pid, clusterDir).finally(release))
      return { url: await urlOf(clusterDir, port), dataDir: clusterDir, stop }
    } catch (error) {
      release()
      throw error
    }
  })
}

/** Stops the postmaster of a data folder, if one runs, whoever started it. @throws PostgresError */
export async function stopPostgres(dataDir: string): Promise<void> {
  return inPlainWords(dataDir, async () => {
    const clusterDir = await locate(dataDir)
    const postmaster = await findPostmaster(clusterDir)
    if (postmaster) await stopPostmaster(postmaster.pid, clusterDir)
  })
}

/** The url of the live postmaster of a data folder, or undefined. @throws PostgresError */
export async function findPostgres(dataDir: string): Promise<string | undefined> {
  return inPlainWords(dataDir, async () => {
    const clusterDir = await locate(dataDir)
    const postmaster = await findPostmaster(clusterDir)
    return postmaster?.ready ? urlOf(clusterDir, postmaster.port) : undefined
  })
}

const STAGING_DIR = '/var/lib/agent-dataset-lifecycle'
const LOG = 'server.log'
const LOG_BYTES = 16 << 20
const PASSWORD = 'password'

const POLL_MS = 20
const SHARED_START_MS = 60_000
const STOP_MS = 60_000
/** Between two sentences about a start that takes long. */
const PROGRESS_MS = 10_000
/** How long the processes of a killed postmaster may take to notice; no other can start meanwhile. */
const LEAVING_MS = 10_000

const INITDB_OPTIONS = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]
const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  random_page_cost: '1.1',
  jit: 'off',
  // A new table has statistics within seconds; without them the planner takes any index.
  autovacuum_naptime: '5s',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // The packaged binaries are built without zstd and lz4.
  wal_compression: 'pglz',
}

/** The owner is whoever holds the lock of a file beside the cluster. */
async function takeOwnership(clusterDir: string, patienceMs: number): Promise<() => void> {
  const path = `${clusterDir}.lock`
  const lock = await until(patienceMs, () => lockFile(path))
  if (lock) return lock.release
  const owner = findLockOwner(path)
  throw clusterError(clusterDir, `is already being used by process ${owner}`, 'stop that one first')
}

async function until<T>(limitMs: number, probe: () => T | undefined | Promise<T | undefined>) {
  const end = performance.now() + limitMs
  for (;;) {
    const found = await probe()
    if (found !== undefined || performance.now() >= end) return found
    await setTimeout(POLL_MS)
  }
}

async function adopt(starting: Starting): Promise<Postmaster | undefined> {
  const { clusterDir, say } = starting
  const postmaster = await findPostmaster(clusterDir)
  if (!postmaster) return undefined
  say(`The database in ${clusterDir} is running already, as process ${postmaster.pid}; using it.`)
  return untilReady(postmaster.pid, starting, () => serves(postmaster.pid, clusterDir))
}

/** Undefined when no live postmaster serves the folder, whatever its pid file says. */
async function findPostmaster(clusterDir: string): Promise<Postmaster | undefined> {
  const postmaster = await readPidFile(clusterDir)
  return postmaster && (await serves(postmaster.pid, clusterDir)) ? postmaster : undefined
}

async function readPidFile(clusterDir: string): Promise<Postmaster | undefined> {
  const text = await fs.readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(missing)
  if (text === undefined) return undefined
  const lines = text.split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

/** Process ids are reused, so the command line has to name the folder. That of a zombie is empty. */
async function serves(pid: number, clusterDir: string): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? fs.readFile(`/proc/${pid}/cmdline`, 'utf8')
      : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', `${pid}`]).then((ps) => ps.stdout)
  const words = (await command.catch(() => '')).replaceAll('\0', ' ')
  return words.includes(` -D ${clusterDir} `)
}

/** Undefined when the postmaster ends before it is ready. */
async function untilReady(
  pid: number,
  { clusterDir, say, signal }: Starting,
  isAlive: IsAlive,
): Promise<Postmaster | undefined> {
  for (;;) {
    const state = await until(PROGRESS_MS, async () => {
      if (!(await isAlive())) return 'ended'
      if (signal?.aborted) return 'unwanted'
      const postmaster = await readPidFile(clusterDir)
      return postmaster?.pid === pid && postmaster.ready ? postmaster : undefined
    })
    if (state === 'ended') return undefined
    if (state === 'unwanted') {
      await stopPostmaster(pid, clusterDir, isAlive)
      throw signal?.reason as Error
    }
    if (state) return state
    say(`The database in ${clusterDir} is still being recovered; its ${LOG} tells how far it is.`)
  }
}

async function launch(cluster: Cluster): Promise<Postmaster> {
  const { clusterDir, say } = cluster
  await checkOrInitialise(cluster)
  const port = cluster.port ?? (await findFreePort())
  say(`Starting the database in ${clusterDir} on port ${port}.`)
  return runPostmaster(cluster, port, performance.now() + LEAVING_MS)
}

/** @param end when it is tried no more, should the processes of a killed postmaster be in the way */
async function runPostmaster(cluster: Cluster, port: number, end: number): Promise<Postmaster> {
  const { clusterDir } = cluster
  const log = await openLog(clusterDir)
  try {
    const child = await spawnPostmaster(cluster, port, log.file.fd)
    // Not by `serves`: until the system has finished its exec, a new process has no command line.
    const isAlive = () => child.exitCode === null && child.signalCode === null
    const postmaster = await untilReady(Number(child.pid), cluster, isAlive)
    if (postmaster) return postmaster
  } finally {
    await log.file.close()
  }
  const reason = tellingLines((await fs.readFile(log.path)).subarray(log.sizeBytes).toString())
  if (reason.includes('pre-existing shared memory') && performance.now() < end) {
    await setTimeout(10 * POLL_MS)
    return runPostmaster(cluster, port, end)
  }
  throw clusterError(clusterDir, `does not start (${reason})`, `see ${log.path}, restore a copy`)
}

async function checkOrInitialise(cluster: Cluster) {
  const { clusterDir, program } = cluster
  const names = (await fs.readdir(clusterDir).catch(missing)) ?? []
  if (names.length === 0) return initialise(cluster)
  const absent = ['PG_VERSION', PASSWORD].find((name) => !names.includes(name))
  const strange = `cannot be used (the folder holds files but no ${absent})`
  if (absent) throw clusterError(clusterDir, strange, 'move them away')
  const made = (await fs.readFile(join(clusterDir, 'PG_VERSION'), 'utf8')).trim()
  if (made === program.version.split('.')[0]) return
  const fault = `was made by PostgreSQL ${made} and this is ${program.version}`
  throw clusterError(clusterDir, fault, 'move it away')
}

/** The cluster appears under its name only when it is whole, password included. */
async function initialise({ clusterDir, program, user, say }: Cluster) {
  say(`Creating a database in ${clusterDir}.`)
  const unfinished = `${clusterDir}.new`
  // A random name: the initdb of a killed process may still be writing to another.
  const [made, password] = [join(unfinished, randomUUID()), join(unfinished, PASSWORD)]
  await fs.rm(unfinished, { recursive: true, force: true, maxRetries: 3 })
  await fs.mkdir(unfinished, { mode: 0o700 })
  await fs.writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600, flush: true })
  if (user) for (const path of [unfinished, password]) await fs.chown(path, user.uid, user.gid)
  const options = [`--pgdata=${made}`, `--pwfile=${password}`, ...INITDB_OPTIONS]
  const initdb = promisify(execFile)(join(program.folder, 'bin/initdb'), options, runAs(user))
  await initdb.catch((error) => {
    const reason = tellingLines(String(error.stderr || error.message))
    throw clusterError(clusterDir, `cannot be created (${reason})`, 'remove the cause', error)
  })
  await fs.rename(password, join(made, PASSWORD))
  await fs.rename(made, clusterDir)
  await fs.rm(unfinished, { recursive: true })
}

/** Opens the server's log for appending; this start begins at `sizeBytes` in it. */
async function openLog(clusterDir: string) {
  const path = join(clusterDir, LOG)
  const last = await fs.stat(path).catch(missing)
  if (last && last.size > LOG_BYTES) await fs.rename(path, `${path}.1`)
  const file = await fs.open(path, 'a', 0o600)
  return { path, file, sizeBytes: (await file.stat()).size }
}

async function spawnPostmaster(cluster: Cluster, port: number, log: number) {
  const { clusterDir, program, user } = cluster
  const settings = Object.entries({ ...DEFAULT_SETTINGS, ...cluster.settings })
  const options = settings.map(([name, value]) => `--${name}=${value}`)
  const { env, ...rest } = runAs(user)
  // A live process named in an old pid file stops the start, even when it is another program; this
  // variable takes it out of question, and leaves PostgreSQL its other checks.
  const stale = (await readPidFile(clusterDir))?.pid
  const postmaster = spawn(
    join(program.folder, 'bin/postgres'),
    ['-D', clusterDir, '-p', `${port}`, ...options],
    {
      ...rest,
      env: { ...env, ...(stale && { PG_GRANDPARENT_PID: `${stale}` }) },
      // Its own process group: Ctrl-C in our terminal does not reach it.
      detached: true,
      stdio: ['ignore', log, log],
    },
  )
  await once(postmaster, 'spawn')
  postmaster.unref()
  return postmaster
}

async function urlOf(clusterDir: string, port: number): Promise<string> {
  const password = await fs.readFile(join(clusterDir, PASSWORD), 'utf8')
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** A fast shutdown that takes too long is followed by an immediate one; the next start recovers. */
async function stopPostmaster(
  pid: number,
  clusterDir: string,
  isAlive: IsAlive = () => serves(pid, clusterDir),
): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (!(await isAlive())) return
    process.kill(pid, signal)
    if (await until(STOP_MS, async () => !(await isAlive()) || undefined)) return
  }
  throw clusterError(clusterDir, 'does not stop', `end process ${pid} yourself`)
}

type Say = Host['say']
type Postmaster = { pid: number; port: number; ready: boolean }
type IsAlive = () => boolean | Promise<boolean>
type Starting = { clusterDir: string; say: Say; signal?: AbortSignal }
type Cluster = Host &
  Starting & {
    program: Program
    port?: number
    settings?: Readonly<Record<string, string>>
  }
