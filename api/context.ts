import type { Queue } from '../jobs/queue.ts'
import type { AllowedNetworks } from '../jobs/rules/core/outbound-address.ts'
import type { ByPlan, Quotas } from '../jobs/rules/org/plan.ts'
import type { ContentForm } from '../jobs/rules/traces/content.ts'
import type { Storage } from '../jobs/storage.ts'
import type { Sql } from '../sql/core/db.ts'
import type { Standby } from '../sql/core/standby.ts'
import type { WalPosition } from '../sql/core/wal-position.ts'
import type { JobRow } from '../sql/jobs/jobs.ts'

/**
 * The connection pools of an API process by the statements that go over them. Each has a limit of its own
 * for the time of a statement, and none waits for the connections of another.
 */
export interface ApiPools {
  /** Credentials, at every request, and what keeps the process going. */
  readonly auth: Sql
  /** Single rows and lists. */
  readonly read: Sql
  /** Counts and sums over many rows. */
  readonly aggregate: Sql
  /** One long list against another, for as long as a minute. */
  readonly compare: Sql
  readonly write: Sql
}

/** The pools that lists, stats, comparisons and exports are read over, which a standby has too. */
export type ReadPools = Pick<ApiPools, 'read' | 'aggregate' | 'compare'>

/** A standby that is read instead of the primary where that makes no difference to clients. */
export interface Replica {
  readonly standby: Standby<ReadPools>
  /** Up to where the primary has written its log. */
  readonly askPrimary: () => Promise<WalPosition>
  /**
   * Requests that the standby may answer, since the start: those that began there, those of them that ended on
   * the primary all the same, and those that the primary answered alone.
   */
  readonly reads: { replica: number; fallen: number; primary: number }
}

/** What every operation works with; made once a process, but for `sql` and `requestId`. */
export interface ApiContext {
  /**
   * The pool for the statements of an operation, on behalf of the caller's organization; outside of one,
   * the pool for writing.
   */
  readonly sql: Sql
  readonly pools: ApiPools
  /** Undefined where there is none. */
  readonly replica?: Replica | undefined
  readonly queue: Queue
  readonly waiter: JobWaiter
  readonly storage: Storage
  /** How long an address holds that an export is redirected to; undefined where none is. */
  readonly redirectSeconds: number | undefined
  readonly log: {
    debug(fields: object, message: string): void
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  readonly now: () => Date
  /** The process is about to stop: soon it takes no more connections. */
  readonly isStopping: () => boolean
  /** Private networks that webhooks may reach, as an exception. */
  readonly outboundNetworks: AllowedNetworks
  /** The payment processor's name, the secrets it signs with, and the mode this installation is in. */
  readonly payments: {
    readonly processor: string
    readonly secrets: readonly string[]
    readonly livemode: boolean
  }
  /** Where versions of datasets are pushed, and whether a push needs no token of its own. */
  readonly hub: { readonly url: string; readonly hasToken: boolean }
  /** Seals a secret so that it can be stored; only workers can open it. */
  readonly seal: (secret: string) => Promise<Buffer>
  readonly quotas: Quotas
  /** Bytes of uploads that an organization may have stored at the same time. */
  readonly uploadBytes: ByPlan
  /** Id of a request that was sent under an idempotency key; a job that it submits keeps the id. */
  readonly requestId?: string
  /** After these seconds without a span a trace made of spans is partial whose root did not come. */
  readonly idleSeconds: number
  /** How long the traces of a list are counted at most. */
  readonly listCountMs: number
  /** In which contents of traces are written. */
  readonly contentForm: ContentForm
  /** Keys begin with this and `sk_`. */
  readonly keyPrefix: string
}

/** Lets requests wait for the end of jobs, whichever process runs them. */
export interface JobWaiter {
  /** The job when it has ended, or as it is after `seconds`; undefined when there is none. */
  wait(orgId: string, id: string, seconds: number): Promise<JobRow | undefined>
  /** Median seconds from creation to success, over the organization's newest jobs of a kind. */
  usualSeconds(orgId: string, kind: string): Promise<number | undefined>
  /** Ends all waits, present and future: they answer at once with the job as it is. */
  close(): Promise<void>
}
