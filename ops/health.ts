import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { openMetrics } from './metrics.ts'

/** What a process says of itself on its internal listener. */
export interface Health {
  /** Why the process should be restarted; empty while it is alive. Must not ask the database. */
  readonly findDeadly: () => readonly string[]
  /** Why the process cannot do its work now; empty while it can. */
  readonly findUnready: () => Promise<readonly string[]>
  /** What somebody should look at, though the process works. */
  readonly findWarnings?: () => Promise<readonly string[]>
  readonly metrics: Registry
  /** How many processes a pool could use now; undefined for a pool there is not. */
  readonly autoscale?: (pool: string) => Promise<object | undefined>
}

/** The internal listener of a process. */
export interface HealthListener {
  /** From now on speaks for this part; before, the process is alive and not ready. */
  show(health: Health): void
  close(): Promise<void>
}

/**
 * Listens on HEALTH_PORT for probes and scrapers: /livez, /readyz, /metrics, /autoscale?pool=. It is
 * for the operator's network only. Without HEALTH_PORT nothing listens.
 */
export async function startHealth(config: Config): Promise<HealthListener> {
  const { HEALTH_PORT: port, HEALTH_HOST: host } = config
  let health = starting()
  const show = (shown: Health) => {
    health = shown
  }
  if (port === undefined) return { show, close: async () => {} }
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://internal')
    if (!url) return send(response, 404, { status: 'not found' })
    answer(health, url, response).catch((error: unknown) => {
      send(response, 500, { status: 'failed', reasons: [String(error)] })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    show,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function starting(): Health {
  return {
    findDeadly: () => [],
    findUnready: async () => ['waiting for the database'],
    metrics: openMetrics(),
  }
}

async function answer(health: Health, url: URL, response: ServerResponse) {
  switch (url.pathname) {
    case '/livez':
      return sendState(response, health.findDeadly(), [])
    case '/readyz': {
      const [unready, warnings] = await Promise.all([
        within(health.findUnready()),
        within(health.findWarnings?.() ?? []),
      ])
      return sendState(response, unready, warnings)
    }
    case '/metrics':
      response.setHeader('Content-Type', health.metrics.contentType)
      return void response.end(await health.metrics.metrics())
    case '/autoscale': {
      const advice = await health.autoscale?.(url.searchParams.get('pool') ?? '')
      return advice ? send(response, 200, advice) : send(response, 404, { status: 'no such pool' })
    }
    default:
      return send(response, 404, { status: 'not found' })
  }
}

function sendState(
  response: ServerResponse,
  reasons: readonly string[],
  warnings: readonly string[],
) {
  const ok = reasons.length === 0
  send(response, ok ? 200 : 503, { status: ok ? 'ok' : 'unavailable', reasons, warnings })
}

function send(response: ServerResponse, status: number, body: object) {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

/** A check that does not end in time has failed: probes do not wait. */
async function within(check: Promise<readonly string[]> | readonly string[]) {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve(['the check took too long']), CHECK_MS)
  })
  const found = await Promise.race([Promise.resolve(check).catch((e: Error) => [e.message]), late])
  clearTimeout(timer)
  return found
}

const CHECK_MS = 2000
