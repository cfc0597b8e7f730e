import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** What a runner was sent. */
export interface PushReceived {
  readonly headers: IncomingHttpHeaders
  readonly raw: Buffer
  readonly body: {
    readonly sent_at: string
    readonly batch_id: string
    readonly task: {
      readonly id: string
      readonly attempt: number
      readonly lease_token: string
      readonly trace_id: string
      readonly task_input: { readonly user_input: string }
    }
    readonly submit_url: string
    readonly heartbeat_url: string
  }
}

/** Answers a task; without an answer the request hangs. */
export type Respond = (received: PushReceived, response: ServerResponse) => unknown

/** A runner on loopback, over plain http, that answers as it is told at the moment. */
export async function startRunner(t: Test, respond: Respond) {
  const received: PushReceived[] = []
  const runner = { respond }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const raw = Buffer.concat(chunks)
      const one = { headers: request.headers, raw, body: JSON.parse(raw.toString()) }
      received.push(one)
      void runner.respond(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/run`
  return { url, received, set: (next: Respond) => void (runner.respond = next) }
}

/** Answers with a status, and a body as JSON. */
export function answer(
  status: number,
  body?: object,
  headers: Record<string, string> = {},
): Respond {
  return (_, response) =>
    response.writeHead(status, headers).end(body === undefined ? '' : JSON.stringify(body))
}
