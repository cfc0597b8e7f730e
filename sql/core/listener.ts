import { randomUUID } from 'node:crypto'
import { openDatabase } from './db.ts'
import type { Sql } from './db.ts'

/** Hears the notifications of the database, on one connection for the whole process. */
export interface Listener {
  /**
   * @param onListening called when the channel is listened to, at first and again after every loss of
   * the connection: what was sent in between was missed
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListening?: () => void,
  ): Promise<void>
  /** Whether notifications came through lately. Without them everything works by polling. */
  isHearing(): boolean
  close(): Promise<void>
}

/**
 * Opens a listener that notices when its connection is dead, also when nothing says so: it sends itself
 * a notification every `CHECK_MS` and makes a new connection when the one before did not come. The
 * driver alone would wait for TCP to give up, and not come back from a restart of the database.
 * @param sql the pool that the notifications to itself are sent by
 */
export function openListener(url: string, sql: Sql, log: Log): Listener {
  const echoChannel = `echo_${randomUUID().replaceAll('-', '')}`
  const subscriptions: Subscription[] = [{ channel: echoChannel, onPayload: hearEcho }]
  let connection: Sql | undefined
  let echoes = 0
  let isAwaited = false
  let missed = 0
  let nextTry = 1

  function hearEcho() {
    if (missed >= MISSED_MAX) log.info({}, 'notifications are heard again')
    echoes++
    isAwaited = false
    missed = 0
    nextTry = 1
  }

  async function check() {
    if (isAwaited) missed++
    if (missed === MISSED_MAX) {
      log.warn({}, 'notifications do not come through; working by polling until they do')
    }
    if (missed >= nextTry) {
      await reconnect()
      nextTry = missed + Math.min(2 * nextTry, TRIES_APART_MAX)
    }
    isAwaited = true
    await sql`select pg_notify(${echoChannel}, '')`
  }

  async function reconnect() {
    connection?.end({ timeout: 0 }).catch(() => undefined)
    const fresh = openDatabase(url, { max: 1, applicationName: 'listener' })
    connection = fresh
    await Promise.all(subscriptions.map((subscription) => subscribe(fresh, subscription)))
  }

  // While the database is away, the next check tries again.
  const tick = () => void check().catch(() => undefined)
  const checking = setInterval(tick, CHECK_MS)
  reconnect().then(tick, () => undefined)

  return {
    async listen(channel, onPayload, onListening) {
      const subscription = { channel, onPayload, onListening }
      subscriptions.push(subscription)
      if (connection) await subscribe(connection, subscription)
    },
    isHearing: () => echoes > 0 && missed < MISSED_MAX,
    async close() {
      clearInterval(checking)
      await connection?.end({ timeout: 1 })
    },
  }
}

/**
 * For where no connection can listen, as behind a pooler: its sessions belong to nobody for longer than
 * a transaction.
 */
export const deafListener: Listener = {
  listen: async () => {},
  isHearing: () => false,
  close: async () => {},
}

async function subscribe(to: Sql, { channel, onPayload, onListening }: Subscription) {
  await to.listen(channel, onPayload, onListening)
}

interface Subscription {
  readonly channel: string
  readonly onPayload: (payload: string) => void
  readonly onListening?: (() => void) | undefined
}

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const CHECK_MS = 4000
/** Echoes missed before the connection counts as dead. */
const MISSED_MAX = 2
/** Checks between two new connections when they do not help either. */
const TRIES_APART_MAX = 15
