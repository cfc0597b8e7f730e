import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from './operator-error.ts'

/**
 * Refuses installed packages that lack their repairs: each file that a patch of `ops/patches` changes
 * must be exactly what the patch makes of it.
 * @param root the folder that holds `ops` and `node_modules`
 * @throws OperatorError
 */
export function checkPatches(root = join(import.meta.dirname, '..')): void {
  const folder = join(root, 'ops/patches')
  const names = readdirSync(folder).filter((name) => name.endsWith('.patch'))
  const lacking = names.filter((name) => !isApplied(readFileSync(join(folder, name), 'utf8'), root))
  if (lacking.length === 0) return
  throw new OperatorError(
    `The installed packages lack ${lacking.join(' and ')} of ops/patches; run \`npm ci\` without --ignore-scripts, or \`npx patch-package --patch-dir ops/patches\`.`,
  )
}

function isApplied(patch: string, root: string) {
  return [...patch.matchAll(CHANGED_FILE)].every(([, path = '', hash = '']) =>
    hashBlob(join(root, path)).startsWith(hash),
  )
}

/** The object name git gives to the content of a file; empty when there is no such file. */
function hashBlob(path: string) {
  try {
    const content = readFileSync(path)
    return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
  } catch {
    return ''
  }
}

/** Path of a file, and the first digits of its object name with the patch applied. */
const CHANGED_FILE = /^diff --git a\/(.+) b\/.+\n(?:.+\n)*?index \w+\.\.(\w+)/gm

// As ops/install.mjs asks, which runs on a Node.js that cannot read this file.
if (import.meta.main) checkPatches()
