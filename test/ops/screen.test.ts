import t from 'tap'
import { runCommandLine } from '../../ops/command-line.ts'
import { readConfig } from '../../ops/config.ts'
import { ensureFirstOrganization } from '../../ops/first-organization.ts'
import { renderScreen } from '../../ops/screen.ts'
import { openTestDatabase } from '../support/database.ts'

t.test('a screen without a key has a command that makes one', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const configOf = (folder: string) => readConfig({ DATA_DIR: t.testdir() + folder })
  const made = await ensureFirstOrganization(sql, configOf('/first'))
  t.match(made, { created: true, key: String })
  const { id, key } = await ensureFirstOrganization(sql, configOf('/second'))
  t.same({ id, key }, { id: made.id, key: undefined })
  const screen = renderScreen({
    address: 'http://127.0.0.1:3000',
    console: 'http://127.0.0.1:3000/console',
    dataDir: '.data',
    organization: id,
    key,
    dataset: undefined,
  })
  const words = /ops\/admin\.ts (key create .*)/.exec(screen)?.[1]?.split(' ') ?? []
  const { code, stdout } = await runCommandLine(words, { DATABASE_URL: url })
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { api_key: String })
})
