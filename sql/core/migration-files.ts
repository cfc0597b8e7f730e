import { readdir, readFile } from 'node:fs/promises'
import type { Index } from './concurrent-index.ts'

/** A file of `sql/migrations` that is there; its content is not read yet. */
export interface MigrationFile {
  readonly number: number
  readonly name: string
  readonly url: URL
}

export interface Migration extends MigrationFile {
  readonly text: string
  /** Code that knows this schema number runs correctly after the migration. */
  readonly serves: number
  /**
   * `ordinary` and `contracting` ones run in one transaction, `contracting` ones only once nobody needs what
   * they take away. Beside running traffic, `indexes` are built, and a `repeated` statement, which touches a
   * limited number of rows, runs until it touches none.
   */
  readonly kind: 'ordinary' | 'indexes' | 'repeated' | 'contracting'
  /** Those of a migration that builds `indexes`; none of another one. */
  readonly indexes: readonly Index[]
}

/** The migrations this program knows, in their order. @param folder ends in a slash */
export async function listMigrations(folder: URL = MIGRATIONS): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  return names
    .sort()
    .map((name) => ({ name, number: Number(name.slice(0, 4)), url: new URL(name, folder) }))
}

/**
 * Reads a migration and what it says of itself: `-- serves: N`, `-- serves: N, repeated` or
 * `-- serves: N, contracting` on its first line. Without that line it serves nobody older than itself.
 * @throws when it says something else of itself, when it builds an index concurrently beside other
 * statements, which need a transaction, and when it repeats more than one statement
 */
export async function readMigration(file: MigrationFile): Promise<Migration> {
  const text = await readFile(file.url, 'utf8')
  const heading = HEADING.exec(text)
  if (!heading && /^--\s*serves\b/.test(text)) {
    throw new Error(
      `${file.name} must begin with "-- serves: N", "repeated" or "contracting" after it`,
    )
  }
  const serves = Number(heading?.[1] ?? file.number)
  const kind = heading?.[2] as 'repeated' | 'contracting' | undefined
  const statements = text.replaceAll(/--.*$/gm, '').trim()
  const indexes = /\bconcurrently\b/i.test(statements) ? readIndexes(file, statements, kind) : []
  if (kind === 'repeated' && !REPEATED.test(statements)) {
    throw new Error(`${file.name} must hold one statement: with, insert, update or delete`)
  }
  return { ...file, text, serves, indexes, kind: kind ?? (indexes[0] ? 'indexes' : 'ordinary') }
}

function readIndexes(
  { name }: MigrationFile,
  statements: string,
  kind: string | undefined,
): Index[] {
  const rest = statements.replaceAll(INDEX, '').trim()
  if (kind === undefined && rest === '') {
    return [...statements.matchAll(INDEX)].map(([, unique, index, table, definition]) => ({
      name: index as string,
      table: table as string,
      definition: definition as string,
      isUnique: unique !== undefined,
    }))
  }
  throw new Error(
    `${name} must hold nothing but: create index concurrently if not exists NAME on TABLE ...;`,
  )
}

const HEADING = /^-- serves: (\d+)(?:, (repeated|contracting))?\n/
const INDEX =
  /create\s+(unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s+(?!only\b)(\w+)\s*([^;]+);/gi
const REPEATED = /^(?:with|insert|update|delete)\b[^;]+;$/i
const MIGRATIONS = new URL('../migrations/', import.meta.url)
