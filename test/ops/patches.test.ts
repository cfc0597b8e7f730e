import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, delimiter, join, resolve } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { checkPatches } from '../../ops/patches.ts'

const PATCHES = globSync('ops/patches/*.patch').map((path) => {
  const text = readFileSync(path, 'utf8')
  const files = [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, file = '']) => file)
  const [name = '', version] = path.slice('ops/patches/'.length, -'.patch'.length).split('+')
  return { path, package: `node_modules/${name}`, version, files }
})

t.test('the installed packages are repaired', async (t) => {
  t.ok(PATCHES.some(({ path }) => path.includes('/postgres+')))
  checkPatches()
})

t.test('each patch is of the version that is installed', async (t) => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  for (const patch of PATCHES) {
    t.equal(patch.version, lock.packages[patch.package]?.version, patch.path)
    t.ok(patch.files.length > 0, `${patch.path} changes files`)
  }
})

t.test('a file that is not what its patch makes of it is refused', async (t) => {
  for (const { path, files } of PATCHES) {
    for (const file of files) {
      const root = plant(t)
      checkPatches(root)
      appendFileSync(join(root, file), '\n')
      t.throws(() => checkPatches(root), lacks(path), file)
      rmSync(join(root, file))
      t.throws(() => checkPatches(root), lacks(path), `no ${file}`)
    }
  }
})

t.test('packages as published are refused until patch-package has run', async (t) => {
  const root = plant(t)
  patchPackage(root, '--reverse')
  for (const { path } of PATCHES) t.throws(() => checkPatches(root), lacks(path))
  patchPackage(root)
  checkPatches(root)
  patchPackage(root)
  checkPatches(root)
})

t.test('every process refuses unrepaired packages in a sentence', async (t) => {
  const root = plant(t)
  copy(['api', 'jobs', 'sql', 'workers'], root)
  patchPackage(root, '--reverse')
  // The check of a change and the runner that users copy are no part of the service.
  const others = ['ops/check.ts', 'ops/runner.ts']
  const scripts = globSync('ops/*.ts').filter(
    (path) => !others.includes(path) && /^await /m.test(readFileSync(path, 'utf8')),
  )
  t.ok(scripts.includes('ops/start-api.ts'))
  for (const script of scripts) {
    const { status, stderr } = runNode(root, [script])
    t.equal(status, 1, script)
    t.match(stderr, /The installed packages lack .* and .* of ops\/patches; run /, script)
    t.notMatch(stderr, /^ +at /m, `${script}: no stack`)
  }
})

t.test('what lacks its repairs is installed again before npm start', async (t) => {
  const root = plantInstalled(t)
  const install = () => runNode(root, ['ops/install.mjs'])
  const again = { status: 0, stderr: /^Installing packages .*\nnpm ci in .*\n$/ }

  t.match(install(), { status: 0, stderr: /^$/ })
  patchPackage(root, '--reverse')
  t.match(install(), again)
  patchPackage(root)
  t.match(install(), { status: 0, stderr: /^$/ })
  for (const { path } of PATCHES) {
    const text = readFileSync(path, 'utf8')
    writeFileSync(join(root, path), text.replace(/^(index \w+\.\.)\w+/m, '$1abcdef0'))
    t.match(install(), again, `${path} changed`)
    copy([path], root)
  }
  rmSync(join(root, 'node_modules/.bin/node'))
  t.match(install(), again, 'no pinned Node.js')
})

t.test('packages of clients that tests run are installed where they are not', async (t) => {
  const root = plantInstalled(t)
  const lock = 'test/clients/package-lock.json'
  copy([lock], root)
  const install = () => runNode(root, ['ops/install.mjs'])
  t.equal(install().stderr, `Installing packages from ${lock} ...\nnpm ci in clients\n`)
  mkdirSync(join(root, 'test/clients/node_modules'))
  cpSync(join(root, lock), join(root, 'test/clients/node_modules/.package-lock.json'))
  t.equal(install().stderr, '', 'and left alone where they are')
})

/** A folder with the repaired packages and what looks after them; other packages are found above it. */
function plant(t: Test) {
  const root = t.testdir()
  copy(['package.json', 'ops', ...PATCHES.map((patch) => patch.package)], root)
  return root
}

/** The same with all that `npm ci` leaves behind, and with a stand-in for npm that says what it was told. */
function plantInstalled(t: Test) {
  const root = plant(t)
  copy(['package-lock.json', 'node_modules/.package-lock.json'], root)
  mkdirSync(join(root, 'node_modules/.bin'))
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'))
  mkdirSync(join(root, 'bin'))
  writeFileSync(join(root, 'bin/npm'), '#!/bin/sh\necho "npm $1 in ${PWD##*/}" >&2\n')
  chmodSync(join(root, 'bin/npm'), 0o755)
  return root
}

function copy(paths: readonly string[], root: string) {
  for (const path of paths) cpSync(path, join(root, path), { recursive: true })
}

function patchPackage(root: string, ...options: string[]) {
  const script = resolve('node_modules/patch-package/index.js')
  const always = ['--patch-dir', 'ops/patches', '--error-on-fail']
  const { status, stderr } = runNode(root, [script, ...always, ...options])
  if (status !== 0) throw new Error(`patch-package: ${stderr}`)
}

function runNode(root: string, args: readonly string[]) {
  return spawnSync(process.execPath, args, {
    cwd: root,
    env: { PATH: [join(root, 'bin'), process.env['PATH']].join(delimiter), DATA_DIR: root },
    encoding: 'utf8',
    timeout: 600_000,
  })
}

function lacks(path: string) {
  return { message: new RegExp(`lack .*${RegExp.escape(basename(path))}.* of ops/patches; run `) }
}
