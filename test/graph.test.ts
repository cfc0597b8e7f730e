import { globSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { endpoint } from '../api/endpoint.ts'
import { areas } from '../api/routes.ts'
import { jobs } from '../jobs/index.ts'
import { pools } from '../workers/pools.ts'
import { plant, readSources, readTree } from './support/sources.ts'
import {
  findAreaCycles,
  findEmptyFolders,
  findFileCycles,
  findImpureRules,
  findLeaks,
  findLoadedHandlers,
  findOperationImports,
  findPoolImports,
  findQueueUsers,
  findStrangeFolders,
  findStrayFiles,
  findUnjoined,
  findUnlisted,
  findWrongImports,
  listOperationFiles,
  MAY_IMPORT,
} from './support/structure.ts'
import type { Found } from './support/structure.ts'

const TOP_LEVEL =
  `package.json package-lock.json tsconfig.json README.md LICENSE api workers jobs sql ops
  test`.split(/\s+/)
/** Never committed. */
const PASSING = ['node_modules', 'coverage']

// This file quotes imports that are wrong on purpose.
const files = readSources(['test/graph.test.ts'])
const tree = readTree(['api', 'jobs', 'sql', 'workers', 'ops', 'test'])

t.test('the walk sees the whole program', async (t) => {
  t.ok(files.size > 60, `${files.size} files`)
  for (const folder of Object.keys(MAY_IMPORT)) {
    t.ok(
      [...files.keys()].some((path) => path.startsWith(`${folder}/`)),
      folder,
    )
  }
  const imported = [...files.values()].flatMap(({ local }) => local)
  t.ok(imported.length > 200, `${imported.length} imports`)
  t.same(
    [...new Set(imported)].filter((path) => !files.has(path)),
    [],
    'all of them are files',
  )
})

t.test('imports go one way, and packages stay where they belong', async (t) => {
  t.same(findWrongImports(files), [])
})

t.test('no imports run in a circle, those of types included', async (t) => {
  t.same(findFileCycles(files), [])
})

t.test('no pool uses another, and what pools share uses none of them', async (t) => {
  t.same(findPoolImports(files), [])
})

t.test('a process loads no handlers but those of its pools', async (t) => {
  t.same(findLoadedHandlers('ops/start-api.ts', files), [])
  t.same(findLoadedHandlers('ops/start-workers.ts', files), [])
})

t.test('areas of rules and of SQL depend on each other in one direction', async (t) => {
  t.same(findAreaCycles('jobs/rules', files), [])
  t.same(findAreaCycles('sql', files), [])
})

t.test('only the transactions of sql/ see the queue', async (t) => {
  t.same(findQueueUsers(files), [])
})

t.test('rules do no I/O and know neither clock nor chance', async (t) => {
  t.same(findImpureRules(files), [])
})

t.test('private knowledge of a foreign thing is in one file', async (t) => {
  t.same(findLeaks(files), [])
})

t.test('only ops knows the environment', async (t) => {
  const knowing = [...files].filter(([, { text }]) => text.includes('process.env'))
  t.same(
    knowing.map(([path]) => path).filter((path) => !/^(ops|test)\//.test(path)),
    [],
  )
})

t.test('each check finds a planted violation', async (t) => {
  const wrong: [string, string, string][] = [
    ['jobs/a.ts', `import { b } from '../sql/b.ts'`, 'jobs/a.ts -> sql/b.ts'],
    ['workers/a.ts', `import type { B } from '../api/b.ts'`, 'workers/a.ts -> api/b.ts'],
    ['api/x/a.ts', `const b = await import('../../workers/b.ts')`, 'api/x/a.ts -> workers/b.ts'],
    [
      'api/a.ts',
      `import { DuckDBInstance } from '@duckdb/node-api'`,
      'api/a.ts -> @duckdb/node-api',
    ],
    ['sql/a.ts', `import 'pg-boss'`, 'sql/a.ts -> pg-boss'],
    ['ops/a.ts', `import { b } from '../test/b.ts'`, 'ops/a.ts -> test/b.ts'],
  ]
  for (const [path, text, found] of wrong)
    t.same(findWrongImports(plant({ [path]: text })), [found])
  for (const leak of ['from pgboss.job where', `=== 'CONNECTION_CLOSED'`, `=== '57014'`]) {
    t.same(findLeaks(plant({ 'ops/a.ts': leak })).length, 1, leak)
  }
  const circle = plant({
    'api/a.ts': `import type { B } from './x/b.ts'`,
    'api/x/b.ts': `import { c } from '../c.ts'`,
    'api/c.ts': `export { a } from './a.ts'`,
  })
  t.same(findFileCycles(circle), ['api/a.ts -> api/x/b.ts -> api/c.ts -> api/a.ts'])
  const pooled: [string, string, string][] = [
    ['workers/evals/a.ts', 'workers/import/b.ts', `import type { B } from '../import/b.ts'`],
    ['workers/runtime/a.ts', 'workers/evals/b.ts', `import { b } from '../evals/b.ts'`],
  ]
  for (const [path, other, text] of pooled) {
    t.same(findPoolImports(plant({ [path]: text })), [`${path} -> ${other}`])
  }
  const program = plant({
    'ops/a.ts': `import { b } from './b.ts'\nimport type { C } from '../workers/evals/c.ts'`,
    'ops/b.ts': `import { d } from '../workers/d.ts'\nconst f = () => import('../workers/import/f.ts')`,
    'workers/d.ts': `export { e } from './evals/e.ts'\nimport { g } from './import/g.ts'`,
    'workers/evals/index.ts': `import { c } from './c.ts'\nimport { e } from './e.ts'`,
    'workers/import/index.ts': `import { f } from './f.ts'`,
  })
  t.same(findLoadedHandlers('ops/a.ts', program), ['workers/d.ts -> workers/evals/e.ts'])
  const unqueued = `import { END_CHANNEL, type Executor } from '../../jobs/queue.ts'`
  t.same(findQueueUsers(plant({ 'sql/x/a.ts': unqueued })), [])
  for (const [text, found] of [
    [`import type { Queue } from '../../jobs/queue.ts'`, 'sql/x/a.ts: the queue'],
    [
      `import {\n  END_CHANNEL,\n  type Queue as Q,\n} from '../../jobs/queue.ts'`,
      'sql/x/a.ts: the queue',
    ],
    [`import type * as jobs from '../../jobs/queue.ts'`, 'sql/x/a.ts: the queue'],
    [`type Q = import('../../jobs/queue.ts').Queue`, 'sql/x/a.ts: the queue'],
    [`import { b } from '../transactions/b.ts'`, 'sql/x/a.ts -> sql/transactions/b.ts'],
  ] as const) {
    t.same(findQueueUsers(plant({ 'sql/x/a.ts': text })), [found], text)
    t.same(findQueueUsers(plant({ 'sql/transactions/a.ts': text })), [], 'which a transaction may')
  }
  for (const impure of ['new Date()', 'Date.now()', 'Math.random()', `from 'node:fs'`]) {
    t.same(findImpureRules(plant({ 'jobs/rules/a.ts': impure })).length, 1, impure)
  }
  const areasInCircle = plant({
    'jobs/rules/evals/a.ts': `import { b } from '../traces/b.ts'`,
    'jobs/rules/traces/b.ts': '',
    'jobs/rules/traces/c.ts': `import { d } from '../evals/d.ts'`,
    'jobs/rules/evals/d.ts': '',
  })
  t.same(findFileCycles(areasInCircle), [])
  t.same(findAreaCycles('jobs/rules', areasInCircle), ['evals -> traces -> evals'])
  const operation = `export const showThing = endpoint('GET', '/thing', {})`
  const importing = plant({
    'api/jobs/show-thing.ts': operation,
    'api/jobs/index.ts': `import { showThing } from './show-thing.ts'`,
    'api/jobs/list-things.ts': `import { showThing } from './show-thing.ts'`,
    'api/org/index.ts': `import { showThing } from '../jobs/show-thing.ts'`,
    'api/wait.ts': `import type { Thing } from './jobs/show-thing.ts'`,
    'test/api/jobs/things.test.ts': `import { showThing } from '../../../api/jobs/show-thing.ts'`,
  })
  t.same(findOperationImports(importing), [
    'api/jobs/list-things.ts -> api/jobs/show-thing.ts',
    'api/org/index.ts -> api/jobs/show-thing.ts',
    'api/wait.ts -> api/jobs/show-thing.ts',
  ])
  const showThing = endpoint('GET', '/thing', {
    summary: 'Read a thing',
    access: 'key',
    answers: {},
    handle: async () => ({}),
  })
  const declared = [{ place: 'api/jobs/show-thing.ts: showThing', value: showThing }]
  t.same(findUnlisted(declared, { jobs: [showThing] }), [])
  t.same(findUnlisted(declared, { jobs: { things: [showThing] } }), [])
  t.same(findUnlisted(declared, { jobs: [], org: [showThing] }), [
    'api/jobs/show-thing.ts: showThing',
  ])
  const built = {
    folders: ['api/jobs', 'api/things', 'api/jobs/x', 'jobs/rules/thing', 'sql/jobs', 'test/api/x'],
    files: ['api/jobs/x/a.ts', 'api/things/a.ts', 'sql/a.ts', 'sql/jobs/a.ts', 'jobs/rules/a.ts'],
  }
  t.same(findUnjoined(built, { jobs: [] }), ['api/things'])
  t.same(findStrangeFolders(built), ['api/things', 'api/jobs/x', 'jobs/rules/thing', 'test/api/x'])
  t.same(findStrayFiles(built), ['sql/a.ts', 'jobs/rules/a.ts'])
  t.same(findEmptyFolders(built), ['jobs/rules/thing', 'test/api/x'])
})

t.test('every operation is in the list of its area, and nothing else imports it', async (t) => {
  const declared = await findExports(
    'api/!(console)/*.ts',
    (value) => 'handle' in value && 'path' in value,
  )
  t.ok(declared.length > 90, `${declared.length} operations`)
  t.equal(listOperationFiles(files).length, declared.length, 'a file for each')
  t.same(findUnlisted(declared, areas), [])
  t.same(findOperationImports(files), [])
})

t.test('every folder is one of the plan, and none is empty', async (t) => {
  t.ok(tree.folders.length > 60, `${tree.folders.length} folders`)
  t.same(findUnjoined(tree, areas), [])
  t.same(findStrangeFolders(tree), [])
  t.same(findStrayFiles(tree), [])
  t.same(findEmptyFolders(tree), [])
})

t.test('every job is listed and has one handler, in the folder of its pool', async (t) => {
  const declared = await findExports('jobs/*.ts', (value) => 'queue' in value && 'payload' in value)
  t.ok(declared.length > 3, `${declared.length} jobs`)
  const listed = new Set<unknown>(jobs)
  t.same(
    declared.filter(({ value }) => !listed.has(value)).map(({ place }) => place),
    [],
  )

  const handled = Object.values(pools).flatMap((pool) => pool.jobs.map(({ name }) => name))
  t.same(handled.sort(), jobs.map(({ name }) => name).sort())
  const loaded = new Map<string, readonly object[]>()
  for (const [name, pool] of Object.entries(pools)) {
    const { handlers } = await pool.load()
    t.same(
      handlers.map(({ job }) => job),
      pool.jobs,
      `${name} loads a handler for each of its jobs`,
    )
    loaded.set(name, handlers)
  }
  const handlers = await findExports('workers/*/*.ts', (value) => 'work' in value && 'job' in value)
  for (const { place, value } of handlers) {
    const pool = loaded.get(place.split('/')[1] as string)
    t.ok(pool?.includes(value), `${place} is in the pool of its folder`)
  }
})

t.test('the top level is what it is meant to be', async (t) => {
  const here = readdirSync('.').filter((name) => !name.startsWith('.') && !PASSING.includes(name))
  t.same(here.sort(), [...TOP_LEVEL].sort())
})

t.test('the lock file holds the packages of every platform, or npm ci refuses it', async (t) => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { optionalDependencies?: object }>
  }
  const names = new Set(
    Object.keys(lock.packages).map((path) => path.replace(/.*node_modules\//, '')),
  )
  const optional = Object.values(lock.packages).flatMap((each) =>
    Object.keys(each.optionalDependencies ?? {}),
  )
  t.ok(optional.length > 50, `${optional.length} packages`)
  t.same(
    optional.filter((name) => !names.has(name)),
    [],
  )
})

/** Exported values of the files of a pattern that look like what is asked for. */
async function findExports(pattern: string, isOne: (value: object) => boolean) {
  const found: Found[] = []
  for (const path of globSync(pattern)) {
    const module = (await import(`../${path}`)) as Record<string, unknown>
    for (const [name, value] of Object.entries(module)) {
      if (typeof value === 'object' && value && isOne(value))
        found.push({ place: `${path}: ${name}`, value })
    }
  }
  return found
}
