import { join } from 'node:path'
import type { Config } from './config.ts'
import { findPostgres, startPostgres } from './postgres.ts'
import { pause } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'

/** Address of the database this installation uses. @throws OperatorError when it is embedded and does not run */
export async function findDatabase(config: Config): Promise<string> {
  const url = config.DATABASE_URL ?? (await findPostgres(clusterDir(config)))
  if (url) return url
  throw new OperatorError(
    `No database runs in ${config.DATA_DIR}. Start the service with \`npm start\`, or set DATABASE_URL or DATA_DIR to those it runs with.`,
  )
}

/**
 * Runs the embedded PostgreSQL, and starts it again at its address if it ends by itself.
 * @param end aborted when it is no longer wanted before it has started; its reason is thrown then
 */
export async function keepPostgres(
  config: Config,
  say: (sentence: string) => void,
  end: AbortSignal,
) {
  const dataDir = clusterDir(config)
  const stopping = new AbortController()
  let server = await startPostgres({ dataDir, say, signal: end })
  const port = Number(new URL(server.url).port)

  async function watch() {
    while (!stopping.signal.aborted) {
      await pause(WATCH_MS, stopping.signal)
      if (stopping.signal.aborted || (await findPostgres(dataDir))) continue
      say('The database ended unexpectedly; starting it again.')
      await server.stop()
      server = await startPostgres({ dataDir, port, say, signal: stopping.signal })
    }
  }
  // The next look tries again what could not be started, and logs it again.
  async function watchOn(): Promise<void> {
    await watch().catch(async (error: Error) => {
      if (stopping.signal.aborted) return
      say(error.message)
      await pause(RETRY_MS, stopping.signal)
      await watchOn()
    })
  }
  const watching = watchOn()
  return {
    url: server.url,
    async stop() {
      stopping.abort()
      await watching
      await server.stop()
    },
  }
}

const WATCH_MS = 1000
const RETRY_MS = 10_000

function clusterDir({ DATA_DIR }: Config) {
  return join(DATA_DIR, 'postgres')
}
