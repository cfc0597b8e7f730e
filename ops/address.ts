import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from './config.ts'
import { OperatorError } from './operator-error.ts'

/** Fails at once when the API could not listen at its address. @throws OperatorError */
export async function checkAddress({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): Promise<void> {
  const probe = createServer()
  try {
    probe.listen(PORT, HOST)
    await once(probe, 'listening')
  } catch (error) {
    throw addressError(error, { HOST, PORT }) ?? error
  } finally {
    probe.close()
  }
}

/** The sentence for a failure to listen; undefined when the error is another one. */
export function addressError(error: unknown, { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>) {
  switch (String((error as { code?: string }).code)) {
    case 'EADDRINUSE':
      return new OperatorError(
        `Port ${PORT} on ${HOST} is taken, perhaps by another start of this service. Stop what uses it, or set PORT to another number.`,
      )
    case 'EACCES':
      return new OperatorError(
        `Port ${PORT} on ${HOST} may not be used by this user. Set PORT to a number above 1023.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new OperatorError(
        `${HOST} is not an address of this machine. Set HOST to one that is.`,
      )
    default:
      return undefined
  }
}

/** Where this machine reaches an API that listens on `host`. */
export function localAddress(host: string, port: number): string {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? host
  return `http://${reached.includes(':') && !reached.startsWith('[') ? `[${reached}]` : reached}:${port}`
}
