import { execFileSync } from 'node:child_process'
import t from 'tap'
import type { Figures } from '../../ops/measure/figures.ts'
import type { FOLDERS } from '../../ops/measure/source.ts'

const SHAPES = `/**
 * Three lines of comment,
 * which stand above this.
 */
export interface Size { width: number }
export type Side = 'left' | 'right'
export class Shape {
  // A comment on a line of its own.
  draw() {
    return [1].map(() => 2) // A comment after code.
  }
  get size() { return 3 }
}

export const show = () => {
}
`

const DOUBLE = `export function double(n: number) {
  const go = function () {
    return n * 2
  }
  return go()
}
`

const ADDITIONS = Array.from({ length: 10 }, (_, i) => `add(${i})`)

/** Imports in double quotes: `test/graph.test.ts` takes those in single quotes for this file's own. */
const TREE = {
  api: { 'shapes.ts': SHAPES, 'double.ts': DOUBLE },
  jobs: {
    'a.ts': 'import type { B } from "./b.ts"\nexport type A = B\n',
    'b.ts': [
      'import { add as plus } from "adder"',
      'export type B = import("../sql/c.ts").C',
      `const text = plus as unknown as string`,
      `const same = ['as', text] as const satisfies string[]`,
      `const one = same[1] as 'as'`,
      ...ADDITIONS,
    ].join('\n'),
  },
  sql: {
    'c.ts': [
      'export type { A as C } from "../jobs/a.ts"',
      'const b = await import("../jobs/b.ts")',
      '',
      ...ADDITIONS.slice(0, 5),
      '',
      '// Neither this comment nor the blank line ends the block.',
      ...ADDITIONS.slice(5),
    ].join('\n'),
  },
  ops: {
    'long.ts': ['// Not a part of it.', '', ...makeFunction('long', 61)].join('\n'),
    bench: { 'load.mjs': makeFunction('load', 82).join('\n') },
    'notes.md': 'const text = {} as string',
  },
  test: {
    'a.test.ts': [
      'import t from "tap"',
      `t.test('adds', async () => {`,
      ...ADDITIONS.slice(2, 9),
      `const none = {} as string`,
      `})`,
    ].join('\n'),
  },
}

t.test('the figures of source code', async (suite) => {
  const root = suite.testdir(TREE)
  const { folders, total, outsideTest } = JSON.parse(run(root, '--json')) as Report

  suite.test('count files and their lines', async (t) => {
    t.same(folders.api.files, { count: 2, p50: 6, p90: 16, max: 16, maxAt: 'api/shapes.ts' })
    t.same(folders.workers.files, { count: 0, p50: 0, p90: 0, max: 0, maxAt: '' })
    t.match(folders.ops.files, { count: 2, max: 82, maxAt: 'ops/bench/load.mjs' })
    t.equal(outsideTest.files.count, 7)
    t.equal(total.files.count, 8)
  })

  suite.test('count functions with braces, each with the functions inside it', async (t) => {
    const maxAt = 'api/double.ts:1 double'
    t.same(folders.api.functions, { count: 5, p50: 3, p90: 6, max: 6, maxAt })
    t.match(folders.ops.functions, { count: 2, max: 82, maxAt: 'ops/bench/load.mjs:1 load' })
    t.match(folders.test.functions, { count: 1, maxAt: `test/a.test.ts:2 t.test('adds')` })
  })

  suite.test('list the functions of more than 60 lines outside benchmarks', async (t) => {
    t.same(total.longFunctions, [{ place: 'ops/long.ts:3', name: 'long', lines: 61 }])
  })

  suite.test('count what a file exports, types included', async (t) => {
    t.same(folders.api.exports, { count: 2, p50: 1, p90: 4, max: 4, maxAt: 'api/shapes.ts' })
    t.match(folders.test.exports, { count: 1, max: 0 })
  })

  suite.test('count type assertions and nothing else that says "as"', async (t) => {
    t.equal(folders.jobs.casts, 3)
    t.equal(outsideTest.casts, 3)
    t.equal(folders.test.casts, 1)
    t.equal(total.casts, 4)
  })

  suite.test('find cycles of imports, types included', async (t) => {
    t.same(total.cycles, [
      ['jobs/a.ts', 'jobs/b.ts', 'sql/c.ts', 'jobs/a.ts'],
      ['jobs/b.ts', 'sql/c.ts', 'jobs/b.ts'],
    ])
    t.same(folders.jobs.cycles, [], 'a cycle through two folders counts in neither')
  })

  suite.test('find six or more lines that stand twice, whatever stands between', async (t) => {
    const long = { lines: 10, places: ['jobs/b.ts:6', 'sql/c.ts:4'] }
    t.same(outsideTest.duplicates, [long])
    t.equal(outsideTest.duplicatedLines, 20)
    const short = { lines: 7, places: ['jobs/b.ts:8', 'sql/c.ts:6', 'test/a.test.ts:3'] }
    t.same(total.duplicates, [long, short])
    t.equal(total.duplicatedLines, 27)
    t.same(folders.sql.duplicates, [])
  })

  suite.test('hold the share of comments in the lines that are not blank', async (t) => {
    t.equal(folders.api.commentShare, 5 / 21)
    t.equal(folders.workers.commentShare, 0)
  })

  suite.test('are printed as a table and lists', async (t) => {
    const text = run(root)
    t.match(text, /^ +api +workers +jobs +sql +ops +test +total +outside test\/\n/)
    t.match(text, /\nfiles +2 +0 +2 +1 +2 +1 +8 +7\n/)
    t.match(text, /\ncasts +0 +0 +3 +0 +0 +1 +4 +3\n/)
    t.match(text, /\n {2}api: api\/shapes\.ts 16\n/)
    t.match(text, /\n {2}ops\/long\.ts:3 long 61\n/)
    t.match(text, /\n {2}jobs\/b\.ts -> sql\/c\.ts -> jobs\/b\.ts\n/)
    t.match(text, /\n {2}jobs\/b\.ts:6 = sql\/c\.ts:4 10\n/)
  })
})

t.test('what cannot be measured is refused with its name', async (t) => {
  t.throws(() => run(t.testdir({ api: {} })), /has no source files/)
  t.throws(() => run(t.testdir({ api: { 'broken.ts': 'const' } })), /api\/broken\.ts: /)
})

function run(...args: string[]) {
  return execFileSync(process.execPath, ['ops/measure.ts', ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  })
}

function makeFunction(name: string, lines: number) {
  const body = Array.from({ length: lines - 2 }, (_, i) => `  ${name}${i}()`)
  return [`function ${name}() {`, ...body, '}']
}

interface Report {
  readonly folders: Record<(typeof FOLDERS)[number], Figures>
  readonly total: Figures
  readonly outsideTest: Figures
}
