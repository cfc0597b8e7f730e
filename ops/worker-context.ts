import { keepCountsFolded } from '../workers/maintenance/fold-counts.ts'
import { superviseJobs } from '../workers/maintenance/supervise-jobs.ts'
import type { WorkerContext } from '../workers/runtime/context.ts'
import { silentMeter } from '../workers/runtime/meter.ts'
import type { Meter } from '../workers/runtime/meter.ts'
import type { Config } from './config.ts'
import { workerConnections } from './connections.ts'
import { openMailer } from './mail.ts'
import { openOutbound } from './outbound.ts'
import { openScratch } from './scratch.ts'
import { openShared, within } from './shared-context.ts'

export interface WorkerOptions {
  /** Jobs that run at once in this process, each of which may hold a connection. */
  readonly slots: number
  /** Look after the queues: rescue lost claims, expire and delete. Add up changes of counts, too. */
  readonly supervise: boolean
  /** Shown in the list of live processes; default `workers`. */
  readonly name?: string
  readonly meter?: Meter
}

export async function openWorkerContext(
  config: Config,
  databaseUrl: string,
  { slots, supervise, name = 'workers', meter = silentMeter }: WorkerOptions,
) {
  const opened = await openShared(config, databaseUrl, {
    name,
    pools: { work: { max: workerConnections(slots) } },
    main: 'work',
    signals: 'work',
    supervise,
  })
  const scratch = await openScratch(config.SCRATCH_DIR, opened.context.log)
  const context: WorkerContext = {
    ...opened.context,
    mailer: config.SMTP_URL ? openMailer(config.SMTP_URL, config.MAIL_FROM) : undefined,
    tracesKeptDays: config.TRACES_KEPT_DAYS,
    makeScratchFolder: scratch.makeFolder,
    outbound: await openOutbound(config),
    meter,
  }
  const upkeep = supervise ? [superviseJobs(context, opened.boss), keepCountsFolded(context)] : []
  let ended: Promise<void> | undefined
  const endUpkeep = () =>
    (ended ??= within(config.DRAIN_SECONDS * 1000, Promise.all(upkeep.map((end) => end()))))
  return {
    context,
    pools: opened.pools,
    boss: opened.boss,
    /**
     * Ends what the process does beside its jobs: supervision and adding up. Waits for a pass that is under
     * way, at most DRAIN_SECONDS; other processes do what is left.
     */
    endUpkeep,
    async close() {
      await endUpkeep()
      await scratch.close()
      await opened.close()
    },
  }
}
