import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

t.test('what the document on skills shows leads from a folder to another one', async (t) => {
  const { folder, runShell } = await openDocumented(t, 'skills.md')
  const printed = await runShell()
  t.equal(printed.length, 11)
  const [synced, attached, checked, used, published, found, resolved, installed, merged, benched] =
    printed.map((block) => splitObjects(block.replace(/: OK$/m, '')))
  console.error(JSON.stringify(printed, null, 1))
  void [synced, attached, checked, used, published, found, resolved, installed, merged, benched]
  t.ok(existsSync(join(folder, 'order-lookup')))
  void statSync
})
