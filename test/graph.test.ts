import { globSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import t from 'tap'
import { operations } from '../api/routes.ts'
import { jobs } from '../jobs/index.ts'
import { pools } from '../workers/pools.ts'

/** Folder to the folders its files may import. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  jobs: ['jobs'],
  sql: ['jobs', 'sql'],
  api: ['jobs', 'sql', 'api'],
  workers: ['jobs', 'sql', 'workers'],
  ops: ['jobs', 'sql', 'api', 'workers', 'ops'],
  test: ['jobs', 'sql', 'api', 'workers', 'ops', 'test'],
}

/** Folder to the packages its files may not import. Types of pg-boss are the queue's own in jobs/. */
const NO_PACKAGE: Record<string, RegExp> = {
  jobs: /^(postgres|@hapi\/|@duckdb\/|got|node-cron|node:(fs|net|http|https|child_process))/,
  sql: /^(pg-boss|@hapi\/|@duckdb\/|got|node-cron|node:(net|http|https|child_process))/,
  api: /^(@duckdb\/|got|node-cron|node:child_process)/,
  workers: /^(@hapi\/|hapi)/,
}

const IMPURE =
  /\bnew Date\(\)|\bDate\.now\(|\bMath\.random\(|\bperformance\.now\(|\brandom(Bytes|UUID|UUIDv7|Int)\(|from 'node:(fs|fs\/promises|net|http|https|child_process|timers)'|\bfetch\(|\bprocess\./

const TOP_LEVEL =
  `package.json package-lock.json tsconfig.json README.md LICENSE api workers jobs sql ops
  test`.split(/\s+/)
/** Never committed. */
const PASSING = ['node_modules', 'coverage']

const files = readSources()

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
  t.same(findCycles(files), [])
})

t.test('rules do no I/O and know neither clock nor chance', async (t) => {
  t.same(findImpureRules(files), [])
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
  const circle = plant({
    'api/a.ts': `import type { B } from './x/b.ts'`,
    'api/x/b.ts': `import { c } from '../c.ts'`,
    'api/c.ts': `export { a } from './a.ts'`,
  })
  t.same(findCycles(circle), ['api/a.ts -> api/x/b.ts -> api/c.ts -> api/a.ts'])
  for (const impure of ['new Date()', 'Date.now()', 'Math.random()', `from 'node:fs'`]) {
    t.same(findImpureRules(plant({ 'jobs/rules/a.ts': impure })).length, 1, impure)
  }
})

t.test('every operation is one of the interface', async (t) => {
  const declared = await findExports('api/*/*.ts', (value) => 'handle' in value && 'path' in value)
  t.ok(declared.length >= operations.length, `${declared.length} operations`)
  const listed = new Set<unknown>(operations)
  t.same(
    declared.filter(({ value }) => !listed.has(value)).map(({ place }) => place),
    [],
  )
})

t.test('every job is listed and has one handler, in the folder of its pool', async (t) => {
  const declared = await findExports('jobs/*.ts', (value) => 'queue' in value && 'payload' in value)
  t.ok(declared.length > 3, `${declared.length} jobs`)
  const listed = new Set<unknown>(jobs)
  t.same(
    declared.filter(({ value }) => !listed.has(value)).map(({ place }) => place),
    [],
  )

  const handled = Object.values(pools).flatMap(({ handlers }) =>
    handlers.map(({ job }) => job.name),
  )
  t.same(handled.sort(), jobs.map(({ name }) => name).sort())
  const handlers = await findExports('workers/*/*.ts', (value) => 'work' in value && 'job' in value)
  for (const { place, value } of handlers) {
    const pool = pools[place.split('/')[1] as string]
    t.ok(pool?.handlers.includes(value as never), `${place} is in the pool of its folder`)
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

interface Source {
  readonly text: string
  /** Paths of the files it imports, from the top. */
  readonly local: readonly string[]
  readonly packages: readonly string[]
}
type Sources = ReadonlyMap<string, Source>

function readSources(): Sources {
  // This file quotes imports that are wrong on purpose.
  const paths = globSync('{api,workers,jobs,sql,ops,test}/**/*.ts', {
    exclude: ['test/graph.test.ts'],
  })
  return new Map(paths.map((path) => [path, parse(path, readFileSync(path, 'utf8'))]))
}

function plant(sources: Record<string, string>): Sources {
  return new Map(Object.entries(sources).map(([path, text]) => [path, parse(path, text)]))
}

function parse(path: string, text: string): Source {
  const code = text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')
  const specifiers = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map(
    ([, s]) => s as string,
  )
  return {
    text: code,
    local: specifiers
      .filter((s) => s.startsWith('.'))
      .map((s) => posix.join(posix.dirname(path), s)),
    packages: specifiers.filter((s) => !s.startsWith('.')),
  }
}

function findWrongImports(sources: Sources): string[] {
  return [...sources].flatMap(([path, { local, packages }]) => {
    const folder = folderOf(path)
    const allowed = MAY_IMPORT[folder] ?? []
    return [
      ...local.filter((other) => !allowed.includes(folderOf(other))),
      ...packages.filter((name) => NO_PACKAGE[folder]?.test(name)),
    ].map((other) => `${path} -> ${other}`)
  })
}

function findCycles(sources: Sources): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  function visit(path: string, way: string[]) {
    const at = way.indexOf(path)
    if (at >= 0) return void cycles.push([...way.slice(at), path].join(' -> '))
    if (done.has(path)) return
    for (const next of sources.get(path)?.local ?? []) visit(next, [...way, path])
    done.add(path)
  }
  for (const path of sources.keys()) visit(path, [])
  return cycles
}

function findImpureRules(sources: Sources): string[] {
  return [...sources].flatMap(([path, { text }]) => {
    const found = path.startsWith('jobs/rules/') ? IMPURE.exec(text) : null
    return found ? [`${path}: ${found[0]}`] : []
  })
}

function folderOf(path: string) {
  return path.split('/')[0] as string
}

/** Exported values of the files of a pattern that look like what is asked for. */
async function findExports(pattern: string, isOne: (value: object) => boolean) {
  const found: { place: string; value: object }[] = []
  for (const path of globSync(pattern)) {
    const module = (await import(`../${path}`)) as Record<string, unknown>
    for (const [name, value] of Object.entries(module)) {
      if (typeof value === 'object' && value && isOne(value))
        found.push({ place: `${path}: ${name}`, value })
    }
  }
  return found
}
