// One API process: node ops/start-api.ts, with DATABASE_URL. Any number of them may run.
import type { ServerResponse } from 'node:http'
import { findUnready } from '../api/core/find-unready.ts'
import { createApi } from '../api/server.ts'
import { addressError, localAddress } from './address.ts'
import { openApiContext } from './api-context.ts'
import { ensureFirstOrganization } from './first-organization.ts'
import { keepKeyUses } from './key-uses.ts'
import { meterRequests, showReplica } from './api-metrics.ts'
import { openMetrics, showPools, showStorage } from './metrics.ts'
import { runProcess } from './process.ts'
import { replicaPools, warnOfReplica } from './replica.ts'

await runProcess('api', async (config, databaseUrl, health) => {
  const opened = await openApiContext(config, databaseUrl)
  const { sql, log, pools, storage, replica } = opened.context
  if (config.INIT_API_KEY) await ensureFirstOrganization(sql, config)
  const stopKeyUses = keepKeyUses(sql, log)
  const server = await createApi(opened.context, {
    host: config.HOST,
    port: config.PORT,
    trustedProxies: config.TRUSTED_PROXIES,
    connections: {
      max: config.MAX_CONNECTIONS,
      maxPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    },
  })
  const metrics = openMetrics()
  meterRequests(metrics, server)
  showStorage(metrics, storage)
  showPools(metrics, { ...pools }, () => replicaPools(replica))
  if (replica) showReplica(metrics, replica)
  // A client that sends its next request on a new connection reaches a process that stays.
  server.listener.prependListener('request', (_, response: ServerResponse) => {
    if (opened.context.isStopping()) response.shouldKeepAlive = false
  })
  health.show({
    findDeadly: () => [],
    findUnready: async () => {
      const unready = await findUnready(opened.context)
      return unready ? [unready.reason] : []
    },
    findWarnings: () => warnOfReplica(replica),
    metrics,
  })
  async function stop() {
    await opened.drain()
    await server.stop({ timeout: config.DRAIN_SECONDS * 1000 })
    await stopKeyUses()
    await opened.close()
  }
  try {
    await server.start()
  } catch (error) {
    await stop()
    throw addressError(error, config) ?? error
  }
  const address = localAddress(config.HOST, Number(server.info.port))
  log.info({ address }, 'listening')
  return { address, leave: opened.leave, stop }
})
