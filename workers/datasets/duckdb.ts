import { DuckDBInstance } from '@duckdb/node-api'
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api'

/** A DuckDB of its own for one build. Its queries run on threads of their own, beside the event loop. */
export interface Duck {
  /** A further connection: each runs one query at a time. */
  connect(): Promise<DuckDBConnection>
  /** Queries nobody may be waiting for when it is closed. */
  hold(queries: Promise<unknown>): void
  /** Interrupts the queries that are held and waits for their end. */
  close(): Promise<void>
}

/**
 * @param folder the only one it reads and writes; what does not fit into memory spills there
 * @param signal interrupts whatever runs
 */
export async function openDuck(folder: string, signal: AbortSignal): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY_LIMIT,
    // One thread and no reordering but its own: the same rows give the same bytes.
    threads: '1',
    // Row groups end by size only where the order of insertion is not kept, which one thread does anyhow.
    preserve_insertion_order: 'false',
    temp_directory: `${folder}/spill`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const connections: DuckDBConnection[] = []
  const held: Promise<unknown>[] = []
  const interrupt = () => connections.forEach((connection) => connection.interrupt())
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
    hold(queries) {
      // A fault is its caller's, who may come to it later or, after one of its own, never.
      queries.catch(() => undefined)
      held.push(queries)
    },
    async close() {
      signal.removeEventListener('abort', interrupt)
      interrupt()
      await Promise.allSettled(held)
      for (const connection of connections) connection.closeSync()
      instance.closeSync()
    },
  }
}

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

/** The one row of a query. */
export async function readOne<Row extends DuckDBValue[]>(
  connection: DuckDBConnection,
  query: string,
): Promise<Row> {
  const result = await connection.runAndReadAll(query)
  return result.getRows()[0] as Row
}

/** A text as a literal of SQL. */
export function quoted(text: string) {
  return `'${text.replaceAll("'", "''")}'`
}

/** Of DuckDB's own buffers; the vectors it works on come on top. */
const MEMORY_LIMIT = '400MB'
