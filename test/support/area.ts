import { globSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'

/**
 * Runs the test files of a part of `test` one after the other in this process: loading the service takes longer than
 * most of them. `test/areas/api.skills.ts` runs those of `test/api/skills`, and `test/areas/api.ts` those of `test/api`
 * that no other area has. Each file can be run by itself, too.
 * @param area the path of its file
 */
export async function runArea(area: string) {
  // What a file opened is closed behind its last test, and not behind the last file.
  const teardowns: (() => unknown)[] = []
  t.teardown = (handler) => void teardowns.unshift(handler)
  for (const file of filesOf(area)) {
    await import(`../../${file}`)
    // Its tests are in the queue; this one comes behind them.
    await t.test(`${file} leaves nothing open`, async (t) => {
      for (const close of teardowns.splice(0)) await close()
      t.pass()
    })
  }
  t.end()
}

function filesOf(area: string) {
  const own = folderOf(area)
  const others = globSync('test/areas/*.ts')
    .map(folderOf)
    .filter((folder) => folder.startsWith(own) && folder !== own)
  const files = globSync(`${own}**/*.test.ts`)
    .filter((file) => !others.some((folder) => file.startsWith(folder)))
    .sort()
  if (files.length === 0) throw new Error(`${own} has no tests`)
  return files
}

const folderOf = (area: string) => `test/${basename(area, '.ts').replaceAll('.', '/')}/`
