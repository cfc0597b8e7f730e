import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * A TCP proxy before a database, whose connections can be made to die without a word.
 * @param port where it listens; 0 takes a free one
 */
export async function openProxy(t: Test, databaseUrl: string, port = 0) {
  const target = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  let isDown = false
  const server = createServer((client) => {
    if (isDown) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    const pair: Pair = { sockets: [client, upstream], name: '' }
    pairs.add(pair)
    // The first message of a connection says who it is.
    client.once('data', (startup: Buffer) => {
      pair.name = /application_name\0([^\0]*)\0/.exec(startup.toString('latin1'))?.[1] ?? ''
    })
    client.pipe(upstream)
    upstream.pipe(client)
    for (const socket of pair.sockets) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        for (const other of pair.sockets) other.destroy()
      })
    }
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const { sockets } of pairs) for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    /** Ends all connections and lets none through until it is up again. */
    setDown(down: boolean) {
      isDown = down
      if (down) for (const { sockets } of pairs) for (const socket of sockets) socket.destroy()
    },
    /**
     * From now on nothing passes on the connections there are of an application; new ones work.
     * Returns how many they are.
     */
    swallow(applicationName: string) {
      const found = [...pairs].filter(({ name }) => name === applicationName)
      for (const { sockets } of found) {
        const [client, upstream] = sockets
        client.unpipe(upstream).resume()
        upstream.unpipe(client).resume()
      }
      return found.length
    },
  }
}

interface Pair {
  readonly sockets: readonly [Socket, Socket]
  name: string
}
