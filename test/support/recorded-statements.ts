import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

/** Stands between a client and its database, and tells the statements that each connection sent, in their order. */
export async function recordStatements(t: Test, databaseUrl: string) {
  const target = new URL(databaseUrl)
  let recorded = new Map<Socket, string[]>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const read = messageReader((text) =>
      recorded.set(client, [...(recorded.get(client) ?? []), text]),
    )
    client.on('data', read)
    client.pipe(upstream).pipe(client)
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined)
      socket.on('close', () => (client.destroy(), upstream.destroy()))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    /** What was sent while `work` ran, by connection: a timer of the process may send something as well. */
    async during(work: () => Promise<unknown>) {
      recorded = new Map()
      await work()
      return [...recorded.values()]
    },
  }
}

/**
 * Reads the messages of a client: its texts of statements, and which of those that it prepared are run.
 * @param tell is called with the text at each run
 */
function messageReader(tell: (text: string) => void) {
  const prepared = new Map<string, string>()
  let rest = Buffer.alloc(0)
  let isStarted = false
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      // The first message has no type before its length.
      const at = isStarted ? 1 : 0
      if (rest.length < at + 4 || rest.length < at + rest.readInt32BE(at)) return
      const message = rest.subarray(0, at + rest.readInt32BE(at))
      rest = rest.subarray(message.length)
      if (isStarted) readMessage(message, prepared, tell)
      isStarted = true
    }
  }
}

function readMessage(message: Buffer, prepared: Map<string, string>, tell: (text: string) => void) {
  const [first = '', second = ''] = message.subarray(5).toString('latin1').split('\0', 2)
  const type = message.toString('latin1', 0, 1)
  if (type === 'Q') tell(first)
  if (type === 'P') prepared.set(first, second)
  // A statement is bound to its parameters once each time that it is run.
  if (type === 'B') tell(prepared.get(second) ?? '')
}
