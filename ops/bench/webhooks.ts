// How fast webhooks are delivered, outbox, attempts and log included, against a bare loop of POSTs with
// the same HTTP client to the same receiver on this machine:
// [DATABASE_URL=...] node ops/bench/webhooks.ts [--deliveries 2000] [--smoke]
// Needs openssl for a certificate.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseNetworks } from '../../jobs/rules/core/outbound-address.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { emitEvent } from '../../sql/transactions/emit-event.ts'
import { upsertNotificationSettings } from '../../sql/webhooks/notifications.ts'
import { startWorkers } from '../../workers/runtime/start-workers.ts'
import { deliverWebhookHandler } from '../../workers/webhooks/deliver-webhook.ts'
import { guardedAgents } from '../../workers/outbound/guarded-agent.ts'
import { postWebhook } from '../../workers/webhooks/post-webhook.ts'
import { readConfig } from '../config.ts'
import { openWorkerContext } from '../worker-context.ts'
import { print, report, round, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'

const CONCURRENCY = 20
const { deliveries: count } = readOptions({ deliveries: [2000, 20] })
await using scratch = await openBenchFolder('webhooks')
const folder = scratch.path
await withBenchDatabase('webhooks', async (bench) => {
  const receiver = await startReceiver()
  const bare = await measureBare(receiver.url)
  const own = await measureOwn(bench, receiver.url)
  receiver.close()
  print([
    { deliveries_s: Math.round(own), bare_posts_s: Math.round(bare), ratio: round(own / bare) },
  ])
  report({
    what: 'webhook deliveries',
    ratio: round(own / bare),
    figures: `${whole(own)} against ${whole(bare)} a second`,
  })
})

async function measureBare(url: string) {
  const agents = guardedAgents(parseNetworks('127.0.0.0/8'), { ca: await readFile(certificate()) })
  const body = Buffer.alloc(400, 'x')
  const started = performance.now()
  let sent = 0
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (sent++ < count) await postWebhook(agents, url, body, {})
    }),
  )
  agents.destroy()
  return count / ((performance.now() - started) / 1000)
}

/** From the moment all are waiting to the end of the last. */
async function measureOwn(bench: Bench, url: string) {
  const config = readConfig({
    DATA_DIR: folder,
    LOG_LEVEL: 'silent',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    OUTBOUND_CA_FILE: certificate(),
  })
  const worker = await openWorkerContext(config, bench.url, {
    slots: CONCURRENCY,
    supervise: false,
  })
  const { sql, queue } = worker.context
  const orgId = bench.owner.org_id
  await upsertNotificationSettings(sql, orgId, { webhook_url: url })
  await queue.transaction(sql, async (tx: Transaction) => {
    const data = { message: 'x'.repeat(250) }
    for (let i = 0; i < count; i++) await emitEvent(tx, queue, orgId, 'test', data, new Date())
  })
  const started = performance.now()
  const handlers = [{ handler: deliverWebhookHandler, concurrency: CONCURRENCY }]
  const pools = await startWorkers(worker.context, worker.boss, handlers)
  for (;;) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from deliveries where state = 'delivered'`
    if (row?.n === count) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const rate = count / ((performance.now() - started) / 1000)
  await pools.stop(5000)
  await worker.close()
  return rate
}

async function startReceiver() {
  const key = join(folder, 'key.pem')
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ${key} -out ${certificate()}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  )
  const receiver = createServer(
    { key: await readFile(key), cert: await readFile(certificate()) },
    (request, response) => {
      request.resume().on('end', () => response.end('ok'))
    },
  )
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  return {
    url: `https://127.0.0.1:${port}/`,
    close() {
      receiver.closeAllConnections()
      receiver.close()
    },
  }
}

function certificate() {
  return join(folder, 'certificate.pem')
}
