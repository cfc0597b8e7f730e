import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'

/**
 * Starts a script of its own process that writes its port to standard output, keeps `connections` busy
 * with one request after another and returns how many a second were answered.
 */
export async function measureServer(
  script: readonly string[],
  makeRequest: () => Buffer,
  options: { readonly connections: number; readonly ms: number },
) {
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer | number]
  if (!Buffer.isBuffer(line)) throw new Error(`${script.join(' ')} ended with ${line}`)
  const port = Number(line.toString())
  await load(port, makeRequest, { ...options, ms: WARM_UP_MS })
  const answered = await load(port, makeRequest, options)
  child.kill()
  await ended
  return (1000 * answered) / options.ms
}

/** In a process that `measureServer` started: the API, on any port. */
export async function serveApi(url: string) {
  const config = readConfig({ LOG_LEVEL: 'error', DATABASE_URL: url })
  const opened = await openApiContext(config, url)
  const server = await createApi(opened.context, { port: 0 })
  await server.start()
  process.stdout.write(`${server.info.port}\n`)
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
          const [bytes] = (await once(socket, 'data')) as [Buffer]
          received += bytes.toString('latin1')
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

const WARM_UP_MS = 2000
