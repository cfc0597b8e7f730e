import { setTimeout as pause } from 'node:timers/promises'
import type { Server } from '@hapi/hapi'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Connections } from '../api/connections.ts'
import type { Replica } from '../api/context.ts'

/** Counts the answers of an API server, and its connections. */
export function meterRequests(registry: Registry, server: Server) {
  meterConnections(registry, server.app.connections)
  meterResolves(registry, server)
  const answered = new Histogram({
    name: 'adl_http_request_seconds',
    help: 'Requests, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  })
  const refused = new Counter({
    name: 'adl_requests_refused_total',
    help: 'Requests refused because the organization has too many at once, no connection became free, or large bodies had no room',
    labelNames: ['reason'],
    registers: [registry],
  })
  for (const reason of ['body_room', 'concurrency', 'no_connection']) refused.inc({ reason }, 0)
  server.events.on('response', ({ method, route, response, info, app }) => {
    if (app.refused) refused.inc({ reason: app.refused })
    const status = 'statusCode' in response ? String(response.statusCode) : 'aborted'
    const seconds = ((info.responded || Date.now()) - info.received) / 1000
    answered.observe({ method, route: route.path, status }, seconds)
  })
}

function meterConnections(registry: Registry, { count, refusals }: Connections) {
  const registers = [registry]
  new Gauge({
    name: 'adl_http_connections',
    help: 'Open connections of clients',
    registers,
    collect() {
      this.set(count())
    },
  })
  new Counter({
    name: 'adl_http_connections_refused_total',
    help: 'Connections refused, by the limit they passed: that of their address or that of all',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, times] of Object.entries(refusals)) this.inc({ reason }, times)
    },
  })
}

/** What is read from the replica, and how far it is behind; looked at when scraped. */
export function showReplica(registry: Registry, { standby, reads }: Replica) {
  const registers = [registry]
  new Counter({
    name: 'adl_replica_reads_total',
    help: 'Requests that a replica may answer: those that began there (replica), of them those that ended on the primary (fallen), and those the primary answered alone (primary)',
    labelNames: ['by'],
    registers,
    collect() {
      this.reset()
      for (const [by, count] of Object.entries(reads)) this.inc({ by }, count)
    },
  })
  new Gauge({
    name: 'adl_replica_up',
    help: 'Whether the replica can be read by this process: 1 or 0',
    registers,
    collect() {
      this.set(standby.state().pools ? 1 : 0)
    },
  })
  const lag = new Gauge({
    name: 'adl_replica_lag_seconds',
    help: 'How long the replica takes to show what is committed',
    registers,
    async collect() {
      // Whether or not anybody reads. A scrape does not wait for a primary that is away.
      await Promise.race([standby.reach(), pause(LOOK_MS, undefined, { ref: false })])
      const { lagSeconds, pools } = standby.state()
      if (pools) lag.set(lagSeconds)
      else lag.remove()
    },
  })
}

/** Counts requests that resolve skills. */
function meterResolves(registry: Registry, server: Server) {
  const resolved = new Counter({
    name: 'adl_registry_resolves_total',
    help: 'Requests to resolve skills, by who asks and why, as their clients say; other for any other word',
    labelNames: ['channel', 'purpose'],
    registers: [registry],
  })
  server.events.on('response', ({ app: { resolve } }) => {
    if (!resolve) return
    const { channel, purpose } = resolve
    resolved.inc({ channel: known(channel, CHANNELS), purpose: known(purpose, PURPOSES) })
  })
}

/** One of some words; a client's own would make a series each. */
function known(word: string | undefined, words: readonly string[]) {
  return word !== undefined && words.includes(word) ? word : 'other'
}

const CHANNELS = ['cli', 'sdk', 'api', 'mcp', 'ci']
const PURPOSES = ['add', 'update', 'check', 'list']
const LOOK_MS = 1000
