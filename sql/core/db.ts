import postgres from 'postgres'
import { NoConnection, openGate } from './gate.ts'
import { gatedPool, gateOf, ownedBy } from './gated-pool.ts'

/**
 * All that we know of the driver, postgres.js, beyond its documentation: the traps closed by its
 * options, what it does on its connections, and the codes of its errors and of the server's.
 */

export { gateOf, NoConnection, ownedBy }

/** The connection pool. */
export type Sql = postgres.Sql<{ int8: number }>
/** An open transaction. */
export type Transaction = postgres.TransactionSql<{ int8: number }>
/** Either of the two: what a query function takes first. */
export type Queryable = postgres.ISql<{ int8: number }>

/** A part of a query, to be put into another one. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>

export interface DatabaseOptions {
  /** Connections at most; default 10. */
  readonly max?: number
  /** Most of them that one owner holds at once (see `ownedBy`); default `max`. */
  readonly maxEach?: number
  /** How long one waits for a connection at most, then gets `NoConnection`; default 60,000. */
  readonly waitMs?: number
  /** The server ends a statement that takes longer; default 30,000. 0 lifts the limit. */
  readonly statementTimeoutMs?: number
  /**
   * A connection whose server says nothing for so long, while it owes an answer, is given up, and what it does is
   * canceled; default never. More than a statement may take. A host that is gone without a word would otherwise be
   * waited for until TCP gives up, which takes a quarter of an hour.
   */
  readonly silenceMs?: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName?: string
  /**
   * The address may lead to a pooler that gives each transaction another session (see `isPooled`):
   * nothing is prepared, and the timeouts are those of the database role, because PgBouncer refuses a
   * connection that asks for its own. Default false.
   */
  readonly pooled?: boolean
  /** Called whenever a connection has ended, also one that nobody used for a minute. */
  readonly onClose?: () => void
}

/**
 * Opens a pool. Three traps of the driver are closed here. A parameter whose serializer throws wedges
 * its pooled connection for ever, so no serializer throws: what cannot be written goes as text that
 * the server refuses. `undefined` is null. JSON text for a json parameter goes as it is, not as a JSON
 * string holding JSON. `int8` comes back as a number: our counts and sizes stay below 2^53.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): Sql {
  const { max = 10, maxEach = max, waitMs = 60_000 } = options
  const pool = postgres(url, {
    max,
    connect_timeout: 5,
    idle_timeout: 60,
    // Seconds a lost connection waits before it tries again; a request waits as long to hear of it.
    backoff: () => 0.2,
    transform: { undefined: null },
    onnotice: () => undefined,
    ...(options.onClose && { onclose: options.onClose }),
    prepare: !options.pooled,
    ...(options.silenceMs && !options.pooled && { silence: options.silenceMs / 1000 }),
    // PgBouncer takes a session away after an answer, also when a part of the next query has gone to it.
    ...(options.pooled && { max_pipeline: 0 }),
    connection: {
      application_name: options.applicationName ?? 'agent-dataset-lifecycle',
      TimeZone: 'UTC',
      ...(!options.pooled && {
        statement_timeout: options.statementTimeoutMs ?? 30_000,
        idle_in_transaction_session_timeout: 60_000,
      }),
    },
    types: {
      date: {
        to: 1184,
        from: [1082, 1114, 1184],
        serialize: serializeTime,
        parse: (text: string) => new Date(text),
      },
      json: { to: 114, from: [114, 3802], serialize: serializeJson, parse: JSON.parse },
      bytea: {
        to: 17,
        from: [17],
        serialize: (value: unknown) =>
          value instanceof Uint8Array
            ? `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
            : NO_BYTES,
        parse: (text: string) => Buffer.from(text.slice(2), 'hex'),
      },
      int8: { to: 20, from: [20], serialize: String, parse: Number },
    },
  }) as unknown as Sql
  return gatedPool(pool, openGate({ max, maxEach, waitMs }))
}

/**
 * Whether a pooler stands before the server, as PgBouncer does. It greets its clients before it has a
 * session for them, and so cannot name the backend that will run their statements.
 * @throws where the answer takes longer than `withinMs`, as of a pooler whose server is away
 */
export async function isPooled(url: string, withinMs = 60_000): Promise<boolean> {
  const sql = openDatabase(url, { max: 1, pooled: true })
  const late = setTimeout(() => void sql.end({ timeout: 0 }), withinMs)
  try {
    const answer = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    return answer.state.pid !== answer[0]?.pid
  } finally {
    clearTimeout(late)
    await sql.end({ timeout: 1 })
  }
}

/**
 * Runs `work`, which sends `text`, on the pool; or on a connection reserved for it when the text begins
 * a transaction, which the driver refuses on a pooled one.
 */
export async function sendText<T>(
  sql: Sql,
  text: string,
  work: (connection: Queryable) => PromiseLike<T>,
): Promise<T> {
  if (!/^\s*begin\b/i.test(text)) return work(sql)
  const connection = await sql.reserve()
  try {
    return await work(connection)
  } catch (error) {
    await connection`rollback`.catch(() => undefined)
    throw error
  } finally {
    connection.release()
  }
}

/**
 * Has the server plan a query for the values it has. That of a prepared one is planned for any values in
 * the end, and what suits a common word does not suit a rare one.
 */
export function unprepared<Row extends object>(query: Query<Row>): Query<Row> {
  Object.assign((query as unknown as { options: object }).options, { prepare: false })
  return query
}

/** Runs one query with settings of its own, which are sent together with it. */
export async function withSettings<T>(
  sql: Sql,
  settings: Readonly<Record<string, string>>,
  run: (tx: Transaction) => PromiseLike<T>,
): Promise<T> {
  const { result } = await sql.begin(async (tx) => {
    const set = tx`select set_config(key, value, true) from json_each_text(${jsonText(settings)}::text::json)`
    const [, result] = await Promise.all([set, run(tx)])
    return { result }
  })
  return result
}

/** Sends the bytes that a `copy ... from stdin` reads. */
export async function sendCopy(query: Query<object>, parts: readonly Uint8Array[]) {
  const stream = await query.writable()
  await new Promise<void>((resolve, reject) => {
    // What the server refuses after the last byte reaches only the query, whose promise has been
    // settled with the stream by then: without this, the stream would never end.
    void Object.assign(query, { reject })
    stream.on('error', reject).on('finish', resolve)
    for (const part of parts) stream.write(part)
    stream.end()
  })
}

/**
 * JSON text of a value for a json or jsonb column. NUL and lone surrogates, which Postgres refuses
 * there, become U+FFFD.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  return UNSTORABLE.test(text) ? JSON.stringify(value, storable) : text
}

/** The row of a statement that returns exactly one. @throws when there is none */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('The statement returned no row')
  return row
}

/** A text that Postgres can hold: NUL and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The database cannot be reached, is starting or stopping, is out of room, or did not answer in time. */
export function isDatabaseAway(error: unknown): boolean {
  return DATABASE_AWAY.test(codeOf(error))
}

/** The server ended a statement that took longer than its session allows, or was told to. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error) === '57014'
}

/** The server refused a statement or ended it. */
export function isServerError(error: unknown): boolean {
  return error instanceof postgres.PostgresError
}

/**
 * The connection to the database was lost or refused. Unlike a statement that takes too long or needs too
 * much room, hardly any work is the cause of it. Other sockets fail with the same codes, but only the
 * driver names a query in its errors.
 */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return CONNECTION_LOST.test(code) || (SOCKET_LOST.test(code) && 'query' in (error as object))
}

/** Data exceptions, limits of the program, and values that a constraint does not admit. */
export function isRowRefused(error: unknown): boolean {
  return /^(22...|54...|23502|23514)$/.test(codeOf(error))
}

/** Another row has the key already. */
export function isKeyTaken(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** A row names another one that is not there. */
export function isReferenceRefused(error: unknown): boolean {
  return codeOf(error) === '23503'
}

/** Wrong user or password, no such database, no right to connect or to make tables. */
export function isAccessRefused(error: unknown): boolean {
  return /^(28\w{3}|3D000|42501)$/.test(codeOf(error))
}

export function isTableMissing(error: unknown): boolean {
  return codeOf(error) === '42P01'
}

/** The server cannot do what was asked, as when it lacks an extension. */
export function isUnsupported(error: unknown): boolean {
  return codeOf(error) === '0A000'
}

/** A statement waited longer for a lock than `lock_timeout`, or for one that waits for it. */
export function isLockRefused(error: unknown): boolean {
  return /^(55P03|40P01)$/.test(codeOf(error))
}

/** A transaction of one snapshot would have changed what another one has changed since. */
export function isSerializationFailure(error: unknown): boolean {
  return codeOf(error) === '40001'
}

function codeOf(error: unknown) {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error
  return isCoded && typeof error.code === 'string' ? error.code : ''
}

const DATABASE_AWAY =
  /^(NO_CONNECTION|CONNECTION_\w+|CONNECT_TIMEOUT|E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH)|ENOTFOUND|EAI_AGAIN|57P0[1-3]|57014|53\d{3}|08\w{3})$/

/** 08P01 is not among them: a message that breaks the protocol is the work of its sender. */
const CONNECTION_LOST =
  /^(NO_CONNECTION|CONNECTION_\w+|CONNECT_TIMEOUT|57P0[1-3]|53300|08(?!P01)\w{3})$/

const SOCKET_LOST =
  /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH)|ENOTFOUND|EAI_AGAIN)$/

/** What PostgreSQL refuses as bytes, where something else is given. */
const NO_BYTES = String.raw`\x?`

/** JSON writes what Postgres refuses, and only that and a few harmless others, as these escapes. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/i

function storable(_key: string, value: unknown) {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [storableText(k), v]))
}

function serializeTime(value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  return Number.isNaN(value.getTime()) ? 'invalid time' : value.toISOString()
}

function serializeJson(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return jsonText(value)
  } catch {
    return 'not JSON'
  }
}

type Query<Row extends object> = postgres.PendingQuery<Row[]>
