import { jobsOfPools } from '../jobs/index.ts'
import type { Job } from '../jobs/job.ts'
import type { AnyHandler } from './runtime/handler.ts'
import type { PoolName } from './pool-names.ts'

export interface Pool {
  /** Jobs that run at once in one process, each queue by itself. */
  readonly concurrency: number
  readonly jobs: readonly Job[]
  /** Loads their handlers, in the same order. A process does so for its own pools alone, which saves memory. */
  load(): Promise<{ readonly handlers: readonly AnyHandler[] }>
  /** Its jobs cannot be done while the storage is away. Default false. */
  readonly needsStorage?: boolean
}

/** Which pool works off which jobs. */
export const pools: Readonly<Record<string, Pool>> = {
  import: {
    concurrency: 2,
    jobs: jobsOfPools.import,
    load: () => import('./import/index.ts'),
    needsStorage: true,
  },
  evals: {
    concurrency: 4,
    jobs: jobsOfPools.evals,
    load: () => import('./evals/index.ts'),
  },
  regression: {
    concurrency: 2,
    jobs: jobsOfPools.regression,
    load: () => import('./regression/index.ts'),
  },
  // Two, so that a build of minutes does not keep every other organization waiting.
  datasets: {
    concurrency: 2,
    jobs: jobsOfPools.datasets,
    load: () => import('./datasets/index.ts'),
    needsStorage: true,
  },
  replay: {
    concurrency: 4,
    jobs: jobsOfPools.replay,
    load: () => import('./replay/index.ts'),
  },
  skills: {
    concurrency: 2,
    jobs: jobsOfPools.skills,
    load: () => import('./skills/index.ts'),
  },
  webhooks: {
    concurrency: 20,
    jobs: jobsOfPools.webhooks,
    load: () => import('./webhooks/index.ts'),
  },
  /** Its processes supervise the queue: they rescue lost claims and delete what is old. */
  maintenance: {
    concurrency: 1,
    jobs: jobsOfPools.maintenance,
    load: () => import('./maintenance/index.ts'),
  },
} satisfies Record<PoolName, Pool>
