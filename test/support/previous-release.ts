import { execFileSync, spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'

/** The commit of the release before this one, which has to go on while this one is rolled out. */
const PREVIOUS_RELEASE = 'c71449b2a778d015fbcce5a5150a946e11b5a7fc'

/** Why the code of the previous release is not to be had, as the option `skip` of a test. */
export const noPreviousRelease =
  spawnSync('git', ['cat-file', '-e', `${PREVIOUS_RELEASE}^{commit}`]).status !== 0 &&
  `this checkout has no history back to ${PREVIOUS_RELEASE.slice(0, 7)}`

/**
 * The code of the previous release in a folder of its own, on today's packages and their repairs.
 * Returns the folder, which goes with the test.
 */
export async function checkOutPreviousRelease(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adl-previous-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const archive = join(folder, 'code.tar')
  const parts = ['api', 'jobs', 'sql', 'workers', 'ops', 'package.json', 'tsconfig.json']
  execFileSync('git', ['archive', '--output', archive, PREVIOUS_RELEASE, ...parts])
  const root = join(folder, 'code')
  await mkdir(root)
  execFileSync('tar', ['-xf', archive, '-C', root])
  await symlink(resolve('node_modules'), join(root, 'node_modules'))
  await rm(join(root, 'ops/patches'), { recursive: true })
  await cp('ops/patches', join(root, 'ops/patches'), { recursive: true })
  return root
}
