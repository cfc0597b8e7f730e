import { messageOf } from '../jobs/rules/core/error-message.ts'
import { SchemaTooNew } from '../sql/core/migrate.ts'
import { ConfigError, readConfig } from './config.ts'
import type { Config } from './config.ts'
import { startHealth } from './health.ts'
import type { HealthListener } from './health.ts'
import { prepareDatabase } from './migrate.ts'
import { openLog } from './log.ts'
import { checkPatches } from './patches.ts'
import { keepFilesPrivate } from './private-files.ts'
import { PostgresError } from './postgres-error.ts'
import { aborted, endNow, endWithin, listenForStop } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'

/** A part of the service that runs in this process. */
export interface Running {
  /** Where it can be reached, if it listens. */
  readonly address?: string
  /** Lets go of everything, so that the process ends by itself. */
  stop(): Promise<void>
}

/** What a child process sends to its parent. */
export type ChildMessage = { ready: true; address?: string } | { operatorError: string }

/**
 * Runs a part of the service as a process of its own: environment, health, database, part, until it is
 * asked to stop. A foreseen failure is reported in a sentence, to the parent if there is one.
 */
export async function runProcess(
  name: string,
  open: (config: Config, databaseUrl: string, health: HealthListener) => Promise<Running>,
): Promise<void> {
  const stop = listenForStop(() => endNow(1))
  let health: HealthListener | undefined
  try {
    checkPatches()
    keepFilesPrivate()
    const config = readConfig()
    const url = requireDatabase(config)
    health = await startHealth(config)
    await prepareDatabase(url, openLog(name, config.LOG_LEVEL), stop.signal)
    if (stop.signal.aborted) return
    const running = await open(config, url, health)
    tellParent({ ready: true, ...(running.address && { address: running.address }) })
    await aborted(stop.signal)
    await running.stop()
  } catch (error) {
    process.exitCode = 1
    const sentence = sentenceOf(error)
    if (sentence === undefined) throw error
    process.stderr.write(`${sentence}\n`)
    tellParent({ operatorError: sentence })
  } finally {
    await health?.close()
    stop.release()
    if (process.connected) process.disconnect?.()
    endWithin(LINGER_MS)
  }
}

/** The sentence for a foreseen failure; undefined for a fault of the program. */
export function sentenceOf(error: unknown): string | undefined {
  const known = [OperatorError, ConfigError, PostgresError, SchemaTooNew]
  return known.some((kind) => error instanceof kind) ? messageOf(error) : undefined
}

function requireDatabase({ DATABASE_URL }: Config): string {
  if (DATABASE_URL) return DATABASE_URL
  throw new OperatorError(
    'DATABASE_URL is not set. This process is one part of the service and needs the database of the others; `npm start` runs all parts with an embedded one.',
  )
}

function tellParent(message: ChildMessage) {
  if (process.connected) process.send?.(message)
}

const LINGER_MS = 5000
