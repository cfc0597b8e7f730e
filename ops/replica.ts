import { setMaxListeners } from 'node:events'
import { connect } from 'node:net'
import type { ApiPools, ReadPools, Replica } from '../api/context.ts'
import { batchCalls } from '../jobs/batch-calls.ts'
import { isPooled, openDatabase } from '../sql/core/db.ts'
import type { DatabaseOptions, Sql } from '../sql/core/db.ts'
import { findConnectionLimit } from '../sql/core/connection-limit.ts'
import { compareHistories, openStandby } from '../sql/core/standby.ts'
import type { StandbyLink, StandbyOptions } from '../sql/core/standby.ts'
import { readReplayed, readWritten } from '../sql/core/wal-position.ts'
import type { Config } from './config.ts'
import { standbyConnections, standbyPools } from './connections.ts'

/** The standby of DATABASE_READ_URL; undefined without one. Whether it is there shows later. */
export function openReplica(
  config: Config,
  pools: ApiPools,
  log: StandbyOptions<ReadPools>['log'],
): Replica | undefined {
  const url = config.DATABASE_READ_URL
  if (url === undefined) return undefined
  const askPrimary = () => askTogether(pools, undefined)
  return {
    standby: openStandby({
      askPrimary,
      connect: (onClose) => connectStandby(config, url, onClose),
      log,
    }),
    askPrimary,
    reads: { replica: 0, fallen: 0, primary: 0 },
  }
}

/** Its pools by the names they are shown under; none while it cannot be used. */
export function replicaPools(replica: Replica | undefined): Record<string, Sql> {
  const pools = Object.entries<Sql>(replica?.standby.state().pools ?? {})
  return Object.fromEntries(pools.map(([name, pool]) => [`replica ${name}`, pool]))
}

/** What an operator should know of a replica that is not read, or hardly. The primary serves all the same. */
export async function warnOfReplica(replica: Replica | undefined): Promise<string[]> {
  if (!replica) return []
  await replica.standby.reach()
  const { complaint } = replica.standby.state()
  return complaint ? [`the read replica ${complaint}; the primary is read`] : []
}

/**
 * Why the server of DATABASE_READ_URL cannot be used: it is no standby of this primary, or it admits too few
 * connections for the API processes. Undefined where it can, and without DATABASE_READ_URL.
 */
export async function examineReplica(
  config: Config,
  primary: Sql,
  apiCount: number,
): Promise<string | undefined> {
  const url = config.DATABASE_READ_URL
  if (url === undefined) return undefined
  await requireAnswer(url)
  const pooled = await isPooled(url, ANSWER_MS)
  const sql = openDatabase(url, { max: 1, pooled })
  try {
    const [written, replayed] = await Promise.all([readWritten(primary), readReplayed(sql)])
    const fault = replayed ? compareHistories(written, replayed) : 'is not a standby'
    if (fault) return `The server of DATABASE_READ_URL ${fault}: it is not read.`
    const [needed, limit] = [apiCount * standbyConnections(config), await findConnectionLimit(sql)]
    if (pooled || needed <= limit) return undefined
    return `The API processes may hold ${needed} connections of the read replica, and it admits ${limit}: raise its max_connections.`
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function connectStandby(
  config: Config,
  url: string,
  onClose: () => void,
): Promise<StandbyLink<ReadPools>> {
  await requireAnswer(url)
  const pooled = await isPooled(url, ANSWER_MS)
  const gone = new AbortController()
  setMaxListeners(0, gone.signal)
  const open = (name: string, options: DatabaseOptions) =>
    openDatabase(url, { ...options, pooled, onClose, applicationName: `api replica ${name}` })
  const named = Object.entries(standbyPools(config)).map(([name, options]) => [
    name,
    open(name, options),
  ])
  const pools = Object.fromEntries(named) as Record<keyof ReadPools, Sql>
  const watch = open('watch', { max: 1, statementTimeoutMs: 1000 })
  return {
    pools,
    watch,
    isPooled: pooled,
    signal: gone.signal,
    async end() {
      gone.abort()
      await Promise.all([...Object.values(pools), watch].map((pool) => pool.end({ timeout: 0 })))
    },
  }
}

/**
 * Asks the server whether it speaks TLS, which each answers with a letter. The driver would connect again and
 * again, without a pause, to a balancer that accepts and closes, as one does whose server is away.
 * @throws where nothing answers within `ANSWER_MS`
 */
async function requireAnswer(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port || POSTGRES_PORT) })
  socket.setTimeout(ANSWER_MS, () =>
    socket.destroy(new Error('The server does not answer in time')),
  )
  try {
    socket.write(TLS_REQUEST)
    for await (const _ of socket) return
    throw new Error('The server closes connections')
  } finally {
    socket.destroy()
  }
}

const POSTGRES_PORT = 5432
const ANSWER_MS = 2000
/** Its length, and the code of the request. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Requests that ask during a round trip share the next one, so that each is told what came before it asked. */
const askTogether = batchCalls(async ({ auth }: ApiPools, asked: readonly undefined[]) => {
  const written = await readWritten(auth)
  return asked.map(() => written)
}, 1000)
