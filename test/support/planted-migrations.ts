import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

/** The migrations with those of a release to come, by file name; for `migrate` and `checkSchema`. */
export async function plantMigrations(t: Test, planted: Readonly<Record<string, string>>) {
  const folder = t.testdir()
  await cp('sql/migrations', folder, { recursive: true })
  for (const [name, text] of Object.entries(planted)) await writeFile(join(folder, name), text)
  return pathToFileURL(`${folder}/`)
}
