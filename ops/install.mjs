// Runs before `npm start` and `npm test`, on whatever Node.js the machine has (18 or newer): installs
// from the lockfile unless node_modules holds just what that says, with the repairs of ops/patches.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { normalize } from 'node:path'

const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8'))

const onWindows = process.platform === 'win32'

if (!isInstalled() || !isRepaired()) {
  console.error('Installing packages from package-lock.json ...')
  // Node's own engine warning would only repeat that the pinned Node.js is being installed.
  const run = spawnSync(
    'npm',
    ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      stdio: ['ignore', 2, 2],
      shell: onWindows,
    },
  )
  if (run.status !== 0) {
    console.error('npm ci failed; the packages could not be installed.')
    process.exitCode = run.status ?? 1
  }
}

/** Optional packages may be absent: they are for other platforms. */
function isInstalled() {
  const installed = readInstalled()
  return Object.entries(locked).every(([path, { version, optional }]) =>
    installed[path] ? installed[path].version === version : optional || path === '',
  )
}

/** Neither the pinned Node.js nor the repairs are there after `npm ci --ignore-scripts`. */
function isRepaired() {
  const pinned = normalize('node_modules/.bin/node')
  return spawnSync(pinned, ['ops/patches.ts'], { shell: onWindows }).status === 0
}

/** What npm notes at the end of each install. */
function readInstalled() {
  try {
    return JSON.parse(readFileSync('node_modules/.package-lock.json', 'utf8')).packages
  } catch {
    return {}
  }
}
