import type { ApiPools, ReadPools, Replica } from '../api/context.ts'
import { batchCalls } from '../jobs/batch-calls.ts'
import { isPooled, openDatabase } from '../sql/core/db.ts'
import type { DatabaseOptions, Sql } from '../sql/core/db.ts'
import { openStandby } from '../sql/core/standby.ts'
import type { StandbyLink, StandbyOptions } from '../sql/core/standby.ts'
import { readWritten } from '../sql/core/wal-position.ts'
import type { Config } from './config.ts'
import { standbyPools } from './connections.ts'

/** The standby of DATABASE_READ_URL; undefined without one. Whether it is there shows later. */
export function openReplica(
  config: Config,
  pools: ApiPools,
  log: StandbyOptions<ReadPools>['log'],
): Replica | undefined {
  const url = config.DATABASE_READ_URL
  if (url === undefined) return undefined
  const askPrimary = () => askTogether(pools, undefined)
  const connect = (onClose: () => void) => connectStandby(config, url, onClose)
  return {
    standby: openStandby({ askPrimary, connect, log }),
    askPrimary,
    reads: { replica: 0, fallen: 0, primary: 0 },
  }
}

async function connectStandby(
  config: Config,
  url: string,
  onClose: () => void,
): Promise<StandbyLink<ReadPools>> {
  const pooled = await isPooled(url)
  const gone = new AbortController()
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

/** Requests that ask during a round trip share the next one, so that each is told what came before it asked. */
const askTogether = batchCalls(async ({ auth }: ApiPools, asked: readonly undefined[]) => {
  const written = await readWritten(auth)
  return asked.map(() => written)
}, 1000)
