import { readdir, readFile } from 'node:fs/promises'

/** Something outside this program keeps a migration from being applied; trying later may help. */
export class MigrationBlocked extends Error {}

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
  /** The index that the file builds beside running traffic; undefined for an ordinary migration. */
  readonly index: string | undefined
}

/** The migrations this program knows, in their order. @param folder ends in a slash */
export async function listMigrations(folder: URL = MIGRATIONS): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  return names
    .sort()
    .map((name) => ({ name, number: Number(name.slice(0, 4)), url: new URL(name, folder) }))
}

/**
 * Reads a migration and what it says of itself. Without a first line `-- serves: N` it serves nobody
 * older than itself.
 * @throws when it builds an index concurrently beside other statements, which need a transaction
 */
export async function readMigration(file: MigrationFile): Promise<Migration> {
  const text = await readFile(file.url, 'utf8')
  const serves = Number(/^-- serves: (\d+)\n/.exec(text)?.[1] ?? file.number)
  return { ...file, text, serves, index: findIndex(file.name, text) }
}

function findIndex(name: string, text: string) {
  const statements = text.replaceAll(/--.*$/gm, '').trim()
  if (!/\bconcurrently\b/i.test(statements)) return undefined
  const index = INDEX.exec(statements)?.[1]
  if (index) return index
  throw new Error(
    `${name} must hold one statement: create index concurrently if not exists NAME on ...`,
  )
}

const INDEX =
  /^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s[^;]+;$/i
const MIGRATIONS = new URL('../migrations/', import.meta.url)
