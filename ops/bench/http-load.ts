import { server as hapiServer } from '@hapi/hapi'
import type { Server, ServerRoute } from '@hapi/hapi'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'
import { median } from './figures.ts'

/** What a benchmark of two servers is started with; `serve` and `url` are for the servers themselves. */
export const LOAD_OPTIONS = {
  seconds: { type: 'string', default: '5' },
  connections: { type: 'string', default: '32' },
  serve: { type: 'string' },
  url: { type: 'string', default: '' },
} as const

/**
 * Requests a second that the API answers and that a bare server answers. The two take turns, each in a
 * process of its own, so that a disturbance meets both.
 * @param script starts, with `--serve service` or `--serve bare`, a server that writes its port to
 * standard output
 */
export async function compareServers(
  script: string,
  { url, seconds, connections }: { url: string; seconds: string; connections: string },
  makeRequest: () => Buffer,
) {
  const load = { connections: Number(connections), ms: Number(seconds) * 1000 }
  const rates: { bare: number[]; service: number[] } = { bare: [], service: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of ['bare', 'service'] as const) {
      const args = [script, '--serve', kind, '--url', url]
      rates[kind].push(await measureServer(args, makeRequest, load))
    }
  }
  return { bare: median(rates.bare), service: median(rates.service) }
}

/** In a process that `compareServers` started: the API. */
export async function serveApi(url: string) {
  const config = readConfig({ LOG_LEVEL: 'error', DATABASE_URL: url })
  const opened = await openApiContext(config, url)
  await serve(await createApi(opened.context, { port: 0 }))
}

/** In a process that `compareServers` started: a server of hapi alone. */
export async function serveBare(routes: ServerRoute[]) {
  const server = hapiServer({ host: '127.0.0.1', port: 0 })
  server.route(routes)
  await serve(server)
}

async function serve(server: Server) {
  await server.start()
  process.stdout.write(`${server.info.port}\n`)
}

async function measureServer(
  script: readonly string[],
  makeRequest: () => Buffer,
  options: { readonly connections: number; readonly ms: number },
) {
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line]: unknown[] = await Promise.race([once(child.stdout, 'data'), ended])
  if (!Buffer.isBuffer(line)) throw new Error(`${script.join(' ')} ended with ${String(line)}`)
  const port = Number(line.toString())
  await load(port, makeRequest, { ...options, ms: WARM_UP_MS })
  const answered = await load(port, makeRequest, options)
  child.kill()
  await ended
  return (1000 * answered) / options.ms
}

/** Returns how many requests were answered with 200 or 201. */
async function load(
  port: number,
  makeRequest: () => Buffer,
  { connections, ms }: { readonly connections: number; readonly ms: number },
) {
  const end = performance.now() + ms
  let answered = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay()
      await once(socket, 'connect')
      let received = ''
      for (;;) {
        socket.write(makeRequest())
        while (!isComplete(received)) {
          const [bytes]: Buffer[] = await once(socket, 'data')
          received += bytes?.toString('latin1')
        }
        if (!/^HTTP\/1.1 20[01]/.test(received)) throw new Error(received)
        received = ''
        if (performance.now() > end) break
        answered++
      }
      socket.destroy()
    }),
  )
  return answered
}

function isComplete(received: string) {
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? '0'
  return received.length >= head + 4 + Number(length)
}

const ROUNDS = 3
const WARM_UP_MS = 2000
