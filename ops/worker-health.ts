import type { PgBoss } from 'pg-boss'
import type { Storage } from '../jobs/storage.ts'
import { checkSchema } from '../sql/core/migrate.ts'
import { findSupervisionAge } from '../sql/jobs/pg-boss.ts'
import type { Sql } from '../sql/core/db.ts'
import type { RunningWorkers } from '../workers/runtime/start-workers.ts'
import { adviseScaling } from './autoscale.ts'
import type { Health } from './health.ts'

/** The health of a worker process. `isStopping`: it was asked to stop. */
export function workerHealth(
  { sql, boss, pools, concurrency, storage }: HealthParts,
  isStopping: () => boolean,
  now: () => Date,
): Omit<Health, 'metrics'> {
  return {
    findDeadly() {
      const deadline = now().getTime() - OVERRUN_DEADLY_MS
      return pools
        .overruns()
        .filter(({ toldAt }) => toldAt.getTime() < deadline)
        .map(({ queue, jobId }) => `a run of ${queue} (${jobId ?? 'internal'}) does not stop`)
    },
    async findUnready() {
      if (isStopping()) return ['stopping']
      if ((await checkSchema(sql)) === 'behind') return ['the schema is behind: run migrate']
      const fault = await storage?.findFault()
      if (fault) return [fault.message]
      const deadline = now().getTime() - FETCH_STALE_MS
      return pools
        .queues()
        .filter(({ paused, slots, running }) => !paused && running < slots)
        .filter(({ fetchedAt }) => (fetchedAt?.getTime() ?? 0) < deadline)
        .map(({ queue }) => `${queue} has not been looked at lately`)
    },
    async findWarnings() {
      const age = await findSupervisionAge(sql)
      return age !== undefined && age < SUPERVISION_STALE_SECONDS
        ? []
        : ['nobody supervises the queues: start a process with pool maintenance']
    },
    autoscale: (pool) => adviseScaling({ sql, boss }, pool, concurrency),
  }
}

interface HealthParts {
  readonly sql: Sql
  readonly boss: PgBoss
  readonly pools: RunningWorkers
  /** Slots of a queue by pool, where they are set. */
  readonly concurrency: Readonly<Record<string, number>>
  /** Undefined where no pool needs it. */
  readonly storage?: Storage | undefined
}

/** After this long a run that ignores its signal costs the process its life. */
const OVERRUN_DEADLY_MS = 60_000
const FETCH_STALE_MS = 30_000
/** Supervision is due every 5 s. */
const SUPERVISION_STALE_SECONDS = 60
