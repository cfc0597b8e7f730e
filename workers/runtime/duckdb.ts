import { DuckDBInstance } from '@duckdb/node-api'
import type {
  DuckDBAppender,
  DuckDBBlobValue,
  DuckDBConnection,
  DuckDBValue,
} from '@duckdb/node-api'
import { awaitedLater } from './awaited-later.ts'

/** The DuckDB of one run of a job. Its queries run on threads of their own and do not hold up the event loop. */
export interface Duck {
  /** Opens another connection; each runs one query at a time. */
  connect(): Promise<DuckDBConnection>
  /**
   * Runs queries that may go on, with nobody waiting for them, when it is closed.
   * @throws Error once it is to end
   */
  hold<T>(queries: () => Promise<T>): Promise<T>
  /** Interrupts all queries and waits until those that are held have ended. */
  close(): Promise<void>
}

/**
 * @param folder the only folder it reads and writes; what does not fit into memory spills there
 * @param signal interrupts all queries when it aborts
 * @param memoryLimit of its own buffers; the vectors it works on come on top
 */
export async function openDuck(
  folder: string,
  signal: AbortSignal,
  memoryLimit = '400MB',
): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: memoryLimit,
    // With one thread the same rows give the same bytes: nothing else reorders them.
    threads: '1',
    // DuckDB limits row groups by size only with this off. One thread keeps the order of insertion anyhow.
    preserve_insertion_order: 'false',
    temp_directory: `${folder}/spill`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const connections: DuckDBConnection[] = []
  const held: Promise<unknown>[] = []
  let isEnding = signal.aborted
  function interrupt() {
    isEnding = true
    for (const connection of connections) connection.interrupt()
  }
  signal.addEventListener('abort', interrupt)
  async function connect() {
    const connection = await instance.connect()
    connections.push(connection)
    return connection
  }
  const first = await connect()
  await first.run(`set allowed_directories = [${quoted(`${folder}/`)}]`)
  await first.run('set enable_external_access = false')
  await first.run('set lock_configuration = true')
  return {
    connect,
    async hold(queries) {
      if (isEnding) throw new Error('DuckDB is being closed')
      const result = queries()
      held.push(awaitedLater(result))
      return result
    },
    async close() {
      signal.removeEventListener('abort', interrupt)
      interrupt()
      // An interrupt ends only what runs at that moment, not what follows in the same work.
      const interrupting = setInterval(interrupt, INTERRUPT_MS)
      await Promise.allSettled(held)
      clearInterval(interrupting)
      for (const connection of connections) connection.closeSync()
      instance.closeSync()
    },
  }
}

const INTERRUPT_MS = 50

/** The rows of a query, a chunk of up to 2,048 at a time. */
export async function* readChunks<Row extends DuckDBValue[]>(
  connection: DuckDBConnection,
  query: string,
): AsyncGenerator<Row[]> {
  const result = await connection.stream(query)
  for (;;) {
    const chunk = await result.fetchChunk()
    if (!chunk || chunk.rowCount === 0) return
    yield chunk.getRows() as Row[]
  }
}

/** The only row of a query. */
export async function readOne<Row extends DuckDBValue[]>(
  connection: DuckDBConnection,
  query: string,
): Promise<Row> {
  const result = await connection.runAndReadAll(query)
  return result.getRows()[0] as Row
}

export function appendText(to: DuckDBAppender, text: string | null) {
  if (text === null) to.appendNull()
  else to.appendVarchar(text)
}

export function appendDouble(to: DuckDBAppender, value: number | null) {
  if (value === null) to.appendNull()
  else to.appendDouble(value)
}

/** A BLOB in the rows of a query. */
export type Bytes = DuckDBBlobValue

/** Writes a text as an SQL literal. */
export function quoted(text: string) {
  return `'${text.replaceAll("'", "''")}'`
}
