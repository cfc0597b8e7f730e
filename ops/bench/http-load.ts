import { server as hapiServer } from '@hapi/hapi'
import type { Server, ServerRoute } from '@hapi/hapi'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { median } from './figures.ts'

/** How a benchmark of two servers loads each of them, for `readOptions`. */
export const LOAD_SIZES = {
  seconds: [5, 0.2],
  connections: [32, 4],
  /** Times that each server is measured. */
  rounds: [3, 1],
  /** Seconds before it is measured. */
  warmup: [2, 0.1],
} as const

/** What the servers themselves are started with. */
export const SERVER_OPTIONS = {
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
  load: Load & { readonly url: string; readonly rounds: number },
  makeRequest: () => Buffer,
) {
  const rates: { bare: number[]; service: number[] } = { bare: [], service: [] }
  for (let round = 0; round < load.rounds; round++) {
    for (const kind of ['bare', 'service'] as const) {
      const args = [script, '--serve', kind, '--url', load.url]
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
  { connections, seconds, warmup }: Load,
) {
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line]: unknown[] = await Promise.race([once(child.stdout, 'data'), ended])
  if (!Buffer.isBuffer(line)) throw new Error(`${script.join(' ')} ended with ${String(line)}`)
  const port = Number(line.toString())
  try {
    await load(port, makeRequest, { connections, seconds: warmup })
    return (await load(port, makeRequest, { connections, seconds })) / seconds
  } finally {
    child.kill()
    await ended
  }
}

/** Returns how many requests were answered with 200 or 201. */
async function load(
  port: number,
  makeRequest: () => Buffer,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
) {
  const end = performance.now() + seconds * 1000
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

interface Load {
  readonly connections: number
  readonly seconds: number
  readonly warmup: number
}
