import { writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Test } from 'tap'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly at: number
}

/**
 * A real HTTPS receiver on loopback with a certificate of its own. What it does is told by the path:
 * /<status> answers it, /slow-headers never answers, /slow-body and /endless begin and do not end,
 * /reset drops the connection, /redirect answers 307.
 */
export async function startReceiver(t: Test) {
  const { key, ca } = await makeCertificate()
  const received: Received[] = []
  const server = createServer({ key, cert: ca }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '/', headers } = request
      const body = Buffer.concat(chunks)
      received.push({ method, path, headers, body, at: performance.now() })
      response.on('error', () => undefined)
      if (path === '/slow-headers') return
      if (path === '/reset') return void request.socket.destroy()
      if (path === '/redirect') {
        return void response.writeHead(307, { location: `${url}/200` }).end()
      }
      if (path === '/slow-body') return void response.writeHead(200).write('x')
      if (path === '/endless') {
        response.writeHead(200)
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 97)));
        }
        response.on('drain', more)
        return more()
      }
      const status = Number(/^\/(\d{3})/.exec(path)?.[1] ?? 200)
      response.writeHead(status, status === 429 ? { 'retry-after': '2' } : {})
      response.end(status === 204 ? undefined : `answer ${status}`)
    })
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const caFile = join(t.testdir(), 'ca.pem')
  await writeFile(caFile, ca)
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url, ca, caFile, received }
}

/** A key of a receiver on loopback, and its certificate, which is its own authority. */
export async function makeCertificate() {
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  })
  return { key: pems.private, ca: pems.cert }
}
