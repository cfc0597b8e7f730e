import type { PgBoss } from 'pg-boss'
import type { Queue } from '../jobs/queue.ts'
import type { AllowedNetworks } from '../jobs/rules/outbound-address.ts'
import type { Quotas } from '../jobs/rules/plan.ts'
import type { Storage } from '../jobs/storage.ts'
import type { Sql } from '../sql/db.ts'
import type { JobRow } from '../sql/jobs.ts'

/** What every operation has; made once a process. */
export interface ApiContext {
  readonly sql: Sql
  readonly queue: Queue
  readonly boss: PgBoss
  readonly waiter: JobWaiter
  readonly storage: Storage
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  readonly now: () => Date
  /** The process has been told to stop and takes no more connections soon. */
  readonly isStopping: () => boolean
  /** Private networks that webhooks may nevertheless reach. */
  readonly outboundNetworks: AllowedNetworks
  /** The payment processor's name, the secrets it signs with, and the mode this installation is in. */
  readonly payments: {
    readonly processor: string
    readonly secrets: readonly string[]
    readonly livemode: boolean
  }
  readonly quotas: Quotas
  /** Names a request that was sent under an idempotency key, for what it makes. */
  readonly requestId?: string
  /** Keys begin with this and `sk_`. */
  readonly keyPrefix: string
}

/** Lets requests wait for the end of jobs, in whatever process those run. */
export interface JobWaiter {
  /** The job when it has ended, or as it is after `seconds`; undefined when there is none. */
  wait(orgId: string, id: string, seconds: number): Promise<JobRow | undefined>
  /** Median seconds from creation to success of the organization's newest jobs of a kind, if any. */
  usualSeconds(orgId: string, kind: string): Promise<number | undefined>
  /** Ends all waits, present and future: they answer at once with the job as it is. */
  close(): Promise<void>
}
