import type { Request, Server } from '@hapi/hapi'
import type { Socket } from 'node:net'
import type { ApiContext } from './context.ts'

/**
 * Logs each request when its answer, or its client, is gone. A line has nothing that a client wrote but
 * the request's id. Lines of probes and of the documentation are of level debug.
 */
export function logRequests(server: Server, log: ApiContext['log']) {
  const counted = new WeakMap<Socket, Traffic>()
  server.events.on('response', (request) => {
    const { app, info, method, route, raw } = request
    const status = statusOf(request)
    const { operation } = route.settings.app ?? {}
    const isQuiet = operation ? operation.tag === 'health' : status < 400
    log[isQuiet ? 'debug' : 'info'](
      {
        request_id: info.id,
        org_id: app.org_id,
        key_prefix: app.key_prefix,
        operation: route.path,
        method: method.toUpperCase(),
        status,
        ms: info.completed - info.received,
        ...countBytes(raw.req.socket, counted),
      },
      'request',
    )
  })
}

/** The status of the answer: hapi's 499 where the client went before its end, 500 where it broke off. */
export function statusOf({ response }: Request) {
  return 'statusCode' in response ? response.statusCode : response.output.statusCode
}

/** What went over a connection since its last request, headers included. */
function countBytes(socket: Socket, counted: WeakMap<Socket, Traffic>) {
  const last = counted.get(socket) ?? { read: 0, written: 0 }
  // A request that a test injects has no connection.
  const now = { read: Number(socket.bytesRead) || 0, written: Number(socket.bytesWritten) || 0 }
  counted.set(socket, now)
  return { bytes_in: now.read - last.read, bytes_out: now.written - last.written }
}

/** Bytes since a connection was opened. */
interface Traffic {
  readonly read: number
  readonly written: number
}
