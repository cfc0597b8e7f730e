import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { updatePlan } from '../../sql/org/organizations.ts'
import { ATTACKER_ADDRESS } from './attack-stage.ts'
import type { Attack, Stage } from './attack-stage.ts'
import { storeSearchedTraces } from './attack-traces.ts'

/** Many requests or connections at once. */
export const floodAttacks: readonly Attack[] = [
  {
    name: 'searches',
    prepare: ({ sql, attacker, isSmall }) =>
      storeSearchedTraces(sql, attacker.owner, isSmall ? 2000 : 100_000),
    run: (stage) =>
      stage.flood(50, stage.isSmall ? 1000 : 10_000, () =>
        stage.send('/api/v1/traces?q=where+order&limit=100'),
      ),
  },
  {
    name: 'sockets',
    run: (stage) => holdSockets(stage, ''),
  },
  {
    name: 'keep-alive-sockets',
    run: (stage) => holdSockets(stage, 'GET /api/v1/version HTTP/1.1\r\nHost: attack\r\n\r\n'),
  },
  {
    name: 'many-keys',
    prepare: async ({ sql, attacker }) => {
      await updatePlan(sql, attacker.owner.org_id, 'free')
    },
    async run(stage) {
      const keys = await Promise.all(Array.from({ length: 6 }, () => stage.makeKey()))
      const startedAt = performance.now()
      await Promise.all(
        keys.flatMap((key) =>
          Array.from({ length: 15 }, () => stage.send('/api/v1/auth/me', { key })),
        ),
      )
      return { burstMs: Math.round(performance.now() - startedAt) }
    },
  },
  {
    name: 'docs-flood',
    run: (stage) =>
      stage.flood(50, floodMs(stage), (client) =>
        stage.send(PUBLIC_PATHS[client % PUBLIC_PATHS.length] ?? '/docs', { key: null }),
      ),
  },
  {
    name: 'payment-flood',
    run(stage) {
      const signature = `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`
      const headers = { 'stripe-signature': signature }
      const body = JSON.stringify({ id: 'evt_1', type: 'x', padding: 'x'.repeat(250_000) })
      return stage.flood(20, floodMs(stage), () =>
        stage.send('/api/v1/webhooks/stripe', { body, headers, key: null }),
      )
    },
  },
  {
    name: 'uploads',
    async run(stage) {
      const count = stage.isSmall ? 5 : 100
      await Promise.all(Array.from({ length: count }, () => breakOffUpload(stage)))
      return { filesLeft: await countFiles(join(stage.folder, 'storage')) }
    },
  },
]

const PUBLIC_PATHS = [
  '/openapi.json',
  '/docs',
  '/docs/ui/swagger-ui-bundle.js',
  '/docs/routes.json',
]

const floodMs = ({ isSmall }: Stage) => (isSmall ? 500 : 5000)

/** Opens connections of one address, sends `text` on each and keeps them open for some time. */
async function holdSockets(stage: Stage, text: string) {
  const { hostname, port } = new URL(stage.address)
  const sockets: Socket[] = []
  let [refused, ended] = [0, 0]
  const wanted = stage.isSmall ? 200 : 10_000
  for (let at = 0; at < wanted; at += SOCKETS_TOGETHER) {
    await Promise.all(
      Array.from({ length: SOCKETS_TOGETHER }, async () => {
        const socket = connect({
          host: hostname,
          port: Number(port),
          localAddress: ATTACKER_ADDRESS,
        })
        sockets.push(socket)
        socket.on('error', () => refused++).once('close', () => ended++)
        await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined)
        if (text && socket.writable) socket.resume().write(text)
      }),
    )
  }
  await setTimeout(stage.isSmall ? 500 : 8000)
  const open = sockets.length - ended
  for (const socket of sockets) socket.destroy()
  return { asked: sockets.length, refused, open }
}

/** Announces an upload, sends its beginning and goes away. */
async function breakOffUpload({ address, attacker }: Stage) {
  const upload = request(`${address}/api/v1/import/jsonl`, {
    method: 'POST',
    agent: false,
    localAddress: ATTACKER_ADDRESS,
    headers: {
      authorization: `Bearer ${attacker.key}`,
      'content-type': 'application/x-ndjson',
      'content-length': String(50 << 20),
    },
  })
  upload.on('error', () => undefined)
  upload.write(Buffer.alloc(1 << 20, '\n'))
  await setTimeout(300)
  upload.destroy()
}

async function countFiles(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).length
}

const SOCKETS_TOGETHER = 100
