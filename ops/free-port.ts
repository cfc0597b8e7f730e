import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A TCP port of 127.0.0.1 that nobody uses now. Nothing keeps it free until the caller listens, so it is
 * none of those the operating system gives to a program that asks for any port.
 */
export async function findFreePort(): Promise<number> {
  const port = randomInt(FIRST_PORT, EPHEMERAL_PORT)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return port
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return await findFreePort()
  } finally {
    server.close()
  }
}

/** Below it are the ports of well-known servers. */
const FIRST_PORT = 20_000
/** The first of Linux' ephemeral ports (`ip_local_port_range`); other systems begin later. */
const EPHEMERAL_PORT = 32_768
