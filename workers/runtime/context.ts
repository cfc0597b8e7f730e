import type { Queue } from '../../jobs/queue.ts'
import type { Quotas } from '../../jobs/rules/org/plan.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { Storage } from '../../jobs/storage.ts'
import type { Sql } from '../../sql/core/db.ts'
import type { Listener } from '../../sql/core/listener.ts'
import type { GuardedAgents } from '../outbound/guarded-agent.ts'
import type { Meter } from './meter.ts'

/** What every worker process has. */
export interface WorkerContext {
  readonly sql: Sql
  readonly listener: Listener
  readonly queue: Queue
  readonly storage: Storage
  readonly log: Log
  readonly now: () => Date
  readonly quotas: Quotas
  /** Undefined for ever. */
  readonly tracesKeptDays: number | undefined
  /** In which contents of traces are written. */
  readonly contentForm: ContentForm
  /** Undefined where no mail server is configured. */
  readonly mailer: Mailer | undefined
  /** Makes an empty folder on a disk of this machine. It is deleted with the process at the latest. */
  readonly makeScratchFolder: () => Promise<string>
  readonly outbound: OutboundSettings
  readonly meter: Meter
}

/** How the workers call addresses that clients gave. */
export interface OutboundSettings {
  readonly agents: GuardedAgents
  readonly hub: HubSettings
  /** Where those that are called reach the API; without a slash at its end. */
  readonly publicUrl: string
  /** Seconds before the second attempt, the third, ... */
  readonly retrySchedule: readonly number[]
  /** 32 bytes each; one of them opens a secret that deliveries are signed with. */
  readonly masterKeys: readonly Uint8Array[]
}

/** Where versions of datasets are pushed. */
export interface HubSettings {
  /** Without a slash at its end. */
  readonly url: string
  /** Used where a push brings none. */
  readonly token: string | undefined
  /** Reach every address, for that of the hub is the operator's. */
  readonly agents: GuardedAgents
}

export interface Mailer {
  /** Rejects with the server's answer as `responseCode` when it refuses. */
  send(mail: { id: string; recipient: string; subject: string; body: string }): Promise<void>
}

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
