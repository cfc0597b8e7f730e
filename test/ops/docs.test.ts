import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import t from 'tap'

const documents = globSync([
  'README.md',
  '.github/*.md',
  'ops/docs/**/*.md',
  'ops/patches/*.md',
]).sort()

t.test('every path that a document names is there', async (t) => {
  t.ok(documents.length > 15, `${documents.length} documents`)
  const named = documents.flatMap((document) =>
    pathsIn(document).map((path) => ({ document, path })),
  )
  t.ok(named.length > 150, `${named.length} paths`)
  t.same(
    named.filter(({ path }) => !isThere(path)).map(({ document, path }) => `${document}: ${path}`),
    [],
  )
  t.notOk(isThere('sql/absent.ts'))
  t.notOk(isThere('workers/<pool>/absent-<noun>.ts'))
})

t.test('every script that a document runs is one of package.json', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }
  const run = documents.flatMap((document) =>
    [...read(document).matchAll(/\bnpm (?:run )?(test\b[:\w]*|start|(?<=run )[\w:-]+)/g)].map(
      ([, name = '']) => name,
    ),
  )
  t.ok(run.length > 5, `${run.length} scripts`)
  t.same(
    run.filter((name) => !Object.hasOwn(scripts, name)),
    [],
  )
})

t.test('every command for people runs on whatever Node.js the machine has', async (t) => {
  const forPeople = [
    'README.md',
    '.github/CONTRIBUTING.md',
    'ops/docs/operating.md',
    'ops/docs/replay.md',
    'ops/docs/webhooks.md',
  ]
  const commands = forPeople.flatMap((document) =>
    [...read(document).matchAll(/(?:npx |exec .*)?\bnode ops\/[\w-]+\.ts/g)].map(
      ([command]) => command,
    ),
  )
  t.ok(commands.length > 10, `${commands.length} commands`)
  t.same(
    commands.filter((command) => !/^(npx|exec) /.test(command)),
    [],
    'but in a container, which has its own',
  )
})

t.test('the walk of a trace names functions that are there, each file once', async (t) => {
  const walk = [...read('ops/docs/architecture.md').matchAll(/^\d+\. `([\w./-]+)`: `(\w+)`/gm)]
  t.ok(walk.length > 20, `${walk.length} steps`)
  t.ok(walk.length <= 30)
  const files = walk.map(([, file = '']) => file)
  t.equal(new Set(files).size, files.length, 'no file is entered twice')
  for (const [, file = '', name = ''] of walk) {
    t.match(
      read(file),
      new RegExp(`\\b(function\\*?|const|class) ${name}\\b|^ +(async )?${name}\\(`, 'm'),
      `${file}: ${name}`,
    )
  }
})

function read(document: string) {
  return readFileSync(document, 'utf8')
}

/** Paths from the top, as they stand in texts, and those of links, which begin at the document. */
function pathsIn(document: string) {
  const text = read(document)
  const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, path = '']) =>
    posix.join(posix.dirname(document), path),
  )
  const plain = text.replaceAll(/\]\([^)]*\)/g, ']')
  const mentions = [
    ...plain.matchAll(/(?<![\w./<-])(?:api(?!\/v1)|workers|jobs|sql|ops|test)\/[\w./<>*-]*/g),
  ].map(([path]) => path.replace(/\.$/, ''))
  return [...links, ...mentions]
}

/** `<name>` stands for any one word, `*` for any name. */
function isThere(path: string) {
  const pattern = path.replaceAll(/<[\w-]+>/g, '*')
  return pattern.includes('*') ? globSync(pattern).length > 0 : existsSync(path)
}
