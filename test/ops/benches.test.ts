import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { BENCHES, commandOf } from '../../ops/bench/benches.ts'
import { readFigures } from '../../ops/bench/figures.ts'
import { serverUrl } from '../support/cluster.ts'

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

t.test('every bench runs and reports figures', { jobs: 2 }, async (t) => {
  const DATABASE_URL = await serverUrl()
  for (const { name, file, args } of BENCHES) {
    // Without an address, a bench starts a server of its own; one shows that it can.
    const { DATABASE_URL: _, ...bare } = process.env
    const env = name === 'webhooks' ? bare : { ...bare, DATABASE_URL }
    t.test(name, { buffered: true }, async (t) => {
      const command = [`ops/bench/${file}.ts`, ...args, '--smoke']
      const { stdout } = await promisify(execFile)(process.execPath, command, { env })
      const figures = readFigures(stdout)
      t.not(figures.length, 0, stdout)
      for (const { what, ratio, figures: text } of figures) {
        t.ok(ratio === null || Number.isFinite(ratio), `${what}: ${ratio}`)
        t.notMatch(text, /NaN|undefined|Infinity/, what)
      }
    })
  }
})

t.test('a bench refuses a size that is no number', async (t) => {
  const command = ['ops/bench/statistics.ts', '--runs', 'many']
  const ended = promisify(execFile)(process.execPath, command)
  await t.rejects(ended, { message: /--runs is a number, not many/ })
})
