// One worker process: node ops/start-workers.ts [--pool import,evals], with DATABASE_URL. Any number of
// them may run, on any number of machines.
import './duckdb-allocator.ts'
import { parseArgs } from 'node:util'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { findSupervisionAge } from '../sql/jobs/pg-boss.ts'
import { pools } from '../workers/pools.ts'
import type { Pool } from '../workers/pools.ts'
import { startWorkers } from '../workers/runtime/start-workers.ts'
import type { Config } from './config.ts'
import { slotsOf, workersName } from './connections.ts'
import { keepCurrent } from './migrate.ts'
import {
  meterWorkers,
  openMetrics,
  showPools,
  showQueues,
  showSlots,
  showStorage,
  showSupervision,
} from './metrics.ts'
import { runProcess } from './process.ts'
import { OperatorError } from './operator-error.ts'
import { findPublicUrlFault } from './outbound.ts'
import { openWorkerContext } from './worker-context.ts'
import { workerHealth } from './worker-health.ts'

await runProcess('workers', async (config, databaseUrl, listener) => {
  const names = choosePools(config)
  const handlers = (await Promise.all(names.map((name) => loadHandlers(config, name)))).flat()
  const slots = slotsOf(config, names)
  const supervise = names.includes('maintenance')
  const metrics = openMetrics()
  const name = workersName(names)
  const queues = handlers.map(({ handler }) => handler.job.name)
  const options = { slots, supervise, name, meter: meterWorkers(metrics, queues) }
  const opened = await openWorkerContext(config, databaseUrl, options)
  const { log, sql, now } = opened.context
  const fault = names.includes('replay') && findPublicUrlFault(config)
  if (fault) log.warn({}, fault)
  const running = await startWorkers(opened.context, opened.boss, handlers)
  showSlots(metrics, running)
  showPools(metrics, opened.pools)
  if (supervise) showQueues(metrics, opened.boss, sql)
  const endKeeping = supervise ? keepCurrent({ sql, url: databaseUrl, log }) : async () => {}
  showSupervision(metrics, () => findSupervisionAge(sql))
  let stopping = false
  const storage = names.some((each) => pools[each]?.needsStorage)
    ? opened.context.storage
    : undefined
  if (storage) showStorage(metrics, storage)
  const parts = { sql, boss: opened.boss, pools: running, concurrency: config.concurrency, storage }
  const health = workerHealth(parts, () => stopping, now)
  listener.show({ ...health, metrics })
  log.info({ pools: names, slots, supervise }, 'working')
  return {
    leave() {
      stopping = true
    },
    async stop() {
      const drainMs = config.DRAIN_SECONDS * 1000
      const [left] = await Promise.all([
        running.stop(drainMs),
        endKeeping(drainMs),
        opened.endUpkeep(),
      ])
      if (left > 0) {
        log.warn(
          { jobs: left },
          'jobs did not stop in time; others take them over when their claims expire',
        )
        process.exitCode = 1
      }
      await opened.close()
    },
  }
})

/** The pools of --pool, else of POOL, else all. */
function choosePools({ POOL }: Config): string[] {
  const { values } = readArguments()
  const given = values.pool?.join(',') ?? POOL
  const names = given?.split(',') ?? Object.keys(pools)
  const unknown = names.filter((name) => !Object.hasOwn(pools, name))
  if (unknown.length === 0) return [...new Set(names)]
  throw new OperatorError(
    `There is no pool ${unknown.join(' and no ')}; the pools are ${Object.keys(pools).join(', ')}.`,
  )
}

async function loadHandlers(config: Config, name: string) {
  const { load, concurrency } = pools[name] as Pool
  const { handlers } = await load()
  return handlers.map((handler) => ({
    handler,
    concurrency: config.concurrency[name] ?? concurrency,
  }))
}

function readArguments() {
  try {
    return parseArgs({ options: { pool: { type: 'string', multiple: true } } })
  } catch (error) {
    throw new OperatorError(`${messageOf(error)} Usage: start-workers.ts [--pool NAME[,NAME]]`)
  }
}
