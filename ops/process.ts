import { setTimeout } from 'node:timers/promises'
import { writeSync } from 'node:fs'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { SchemaTooNew } from '../sql/core/migrate.ts'
import { MigrationBlocked } from '../sql/core/lock-retries.ts'
import { ConfigError, readConfig } from './config.ts'
import type { Config } from './config.ts'
import { startHealth } from './health.ts'
import type { HealthListener } from './health.ts'
import { prepareDatabase } from './migrate.ts'
import { writeOnlyJson } from './json-lines.ts'
import { openLog } from './log.ts'
import { checkPatches } from './patches.ts'
import { keepFilesPrivate } from './private-files.ts'
import { PostgresError } from './postgres-error.ts'
import { aborted, endNow, endWithin, listenForStop } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'
import { freeStartupMemory } from './startup-memory.ts'
import { openTracing } from './tracing.ts'

/** A part of the service that runs in this process. */
export interface Running {
  /** Where it can be reached, if it listens. */
  readonly address?: string
  /** From now on it is not ready, and serves as before. */
  leave(): void
  /** Lets go of everything, so that the process ends by itself. */
  stop(): Promise<void>
}

/** What a child process sends to its parent. */
export type ChildMessage = { ready: true; address?: string } | { operatorError: string }

/**
 * Runs a part of the service as a process of its own: environment, health, database, part, until it is
 * asked to stop. Then it leaves readiness, serves for DRAIN_DELAY_SECONDS more, and stops. It writes lines
 * of JSON and nothing else. A foreseen failure is reported in a sentence: in a line of the log, or alone on
 * a terminal, and to the parent if there is one.
 */
export async function runProcess(
  name: string,
  open: (config: Config, databaseUrl: string, health: HealthListener) => Promise<Running>,
): Promise<void> {
  const stop = listenForStop(() => endNow(1))
  const isTerminal = process.stderr.isTTY
  const log = openLog(name, undefined)
  writeOnlyJson(log)
  let health: HealthListener | undefined
  let closeTracing = async () => {}
  try {
    checkPatches()
    keepFilesPrivate()
    const config = readConfig()
    if (config.LOG_LEVEL) log.level = config.LOG_LEVEL
    const url = requireDatabase(config)
    health = await startHealth(config)
    closeTracing = await openTracing(config, name, log)
    await prepareDatabase(url, log, stop.signal)
    if (stop.signal.aborted) return
    const running = await open(config, url, health)
    freeStartupMemory()
    tellParent({ ready: true, ...(running.address && { address: running.address }) })
    await aborted(stop.signal)
    running.leave()
    await setTimeout(config.DRAIN_DELAY_SECONDS * 1000)
    await running.stop()
  } catch (error) {
    process.exitCode = 1
    const sentence = sentenceOf(error)
    if (sentence === undefined) log.fatal({ err: error }, 'the process failed')
    else if (isTerminal) writeSync(STDERR, `${sentence}\n`)
    else log.fatal({}, sentence)
    if (sentence !== undefined) tellParent({ operatorError: sentence })
  } finally {
    await health?.close()
    await closeTracing()
    stop.release()
    if (process.connected) process.disconnect?.()
    endWithin(LINGER_MS)
  }
}

/** The sentence for a foreseen failure; undefined for a fault of the program. */
export function sentenceOf(error: unknown): string | undefined {
  const known = [OperatorError, ConfigError, PostgresError, SchemaTooNew, MigrationBlocked]
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
const STDERR = 2
