import type { PgBoss } from 'pg-boss'
import type { ApiContext, ApiPools } from '../api/context.ts'
import { openJobWaiter } from '../api/wait.ts'
import { parseNetworks } from '../jobs/rules/core/outbound-address.ts'
import type { Config } from './config.ts'
import { apiPools } from './connections.ts'
import { seal } from './outbound.ts'
import { openReplica } from './replica.ts'
import { openShared } from './shared-context.ts'

/** What an API process holds open, and how it lets go. */
export interface OpenedApi {
  readonly context: ApiContext
  readonly boss: PgBoss
  /** Takes the process out of readiness. */
  leave(): void
  /** Lets requests that wait for a job answer at once. */
  drain(): Promise<void>
  close(): Promise<void>
}

/** @param databaseUrl of a database that has been migrated */
export async function openApiContext(config: Config, databaseUrl: string): Promise<OpenedApi> {
  const options = { name: 'api', pools: apiPools(config), main: 'write', signals: 'auth' } as const
  const opened = await openShared<keyof ApiPools>(config, databaseUrl, options)
  const { pools } = opened
  const waiter = await openJobWaiter(pools.read, opened.context.listener)
  const replica = openReplica(config, pools, opened.context.log)
  let stopping = false
  return {
    context: {
      ...opened.context,
      pools,
      replica,
      waiter,
      outboundNetworks: parseNetworks(config.OUTBOUND_ALLOW_CIDRS),
      payments: {
        processor: config.PAYMENT_PROCESSOR,
        secrets: config.PAYMENT_WEBHOOK_SECRET?.split(',') ?? [],
        livemode: config.PAYMENT_LIVEMODE,
      },
      hub: { url: config.HUB_URL, hasToken: config.HUB_TOKEN !== undefined },
      seal: (secret) => seal(config, secret),
      uploadBytes: config.uploadBytes,
      redirectSeconds: config.STORAGE_REDIRECT_SECONDS,
      idleSeconds: config.OTLP_IDLE_SECONDS,
      listCountMs: config.LIST_COUNT_MS,
      keyPrefix: config.KEY_PREFIX,
      isStopping: () => stopping,
    },
    boss: opened.boss,
    leave() {
      stopping = true
    },
    drain: () => waiter.close(),
    async close() {
      await replica?.standby.close()
      await opened.close()
    },
  }
}
