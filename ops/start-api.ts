// One API process: node ops/start-api.ts, with DATABASE_URL. Any number of them may run.
import { createApi } from '../api/server.ts'
import { checkSchema } from '../sql/core/migrate.ts'
import { addressError, localAddress } from './address.ts'
import { openApiContext } from './context.ts'
import { ensureFirstOrganization } from './first-organization.ts'
import { keepKeyUses } from './key-uses.ts'
import { meterRequests, openMetrics, showStorage } from './metrics.ts'
import { runProcess } from './process.ts'

await runProcess('api', async (config, databaseUrl, health) => {
  const opened = await openApiContext(config, databaseUrl)
  const { sql, log, storage } = opened.context
  if (config.INIT_API_KEY) await ensureFirstOrganization(sql, config)
  const stopKeyUses = keepKeyUses(sql, log)
  const server = await createApi(opened.context, {
    host: config.HOST,
    port: config.PORT,
    trustedProxies: config.TRUSTED_PROXIES,
  })
  const metrics = openMetrics()
  meterRequests(metrics, server)
  showStorage(metrics, storage)
  health.show({
    findDeadly: () => [],
    findUnready: async () => {
      if (opened.context.isStopping()) return ['stopping']
      if ((await checkSchema(sql)) === 'behind') return ['the schema is behind: run migrate']
      const fault = await storage.findFault()
      return fault ? [fault.message] : []
    },
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
  return { address, stop }
})
