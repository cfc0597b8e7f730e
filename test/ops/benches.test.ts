import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { BENCHES, commandOf } from '../../ops/bench/benches.ts'
import { checkFigures } from '../support/bench-figures.ts'

/** Programs with options that are no benches. */
const OTHERS = {
  'attacks.ts': 'its figures are in security.md; test/faults/attacks.test.ts runs every attack',
  'generate.ts': 'writes a file of traces',
  'options.ts': 'reads the options of benches',
  'run.ts': 'runs the benches',
}

t.test('every program of the folder is listed as a bench', async (t) => {
  const programs = globSync('ops/bench/*.ts')
    .filter((path) => /\b(readOptions|parseArgs)\(|readOptions</.test(readFileSync(path, 'utf8')))
    .map((path) => basename(path))
  const listed = new Set(BENCHES.map(({ file }) => `${file}.ts`))
  t.strictSame(programs.sort(), [...listed, ...Object.keys(OTHERS)].sort())
})

t.test('every bench has a name and a command of its own', async (t) => {
  t.equal(new Set(BENCHES.map(({ name }) => name)).size, BENCHES.length)
  t.equal(new Set(BENCHES.map(commandOf)).size, BENCHES.length)
})

// test/faults/long/benches.test.ts runs all of them.
t.test('a bench without an address starts a server of its own', async (t) => {
  const { DATABASE_URL: _, ...env } = process.env
  const [bench] = BENCHES.filter(({ name }) => name === 'webhooks')
  if (bench) await checkFigures(t, bench, env)
})

t.test('a bench refuses a size that is no number', async (t) => {
  const command = ['ops/bench/statistics.ts', '--runs', 'many']
  const ended = promisify(execFile)(process.execPath, command)
  await t.rejects(ended, { message: /--runs is a number, not many/ })
})
