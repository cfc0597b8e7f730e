import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { bareEnv } from './bare-env.ts'

/**
 * Starts a program of ops/ in a process of its own, which is killed when the test ends. It sees no
 * environment but that of `bareEnv`, a free port, a folder for its data, and what is given. Where the test
 * fails, the end of its log is shown.
 * @param root folder of the code
 */
export function launch(
  t: Test,
  script: string,
  env: Record<string, string>,
  args: readonly string[] = [],
  root = '.',
) {
  // Asking for the folder of a test anew empties it.
  const DATA_DIR = env['DATA_DIR'] ?? t.testdir()
  const child = spawn(process.execPath, [join(root, 'ops', script), ...args], {
    env: { ...bareEnv(), PORT: '0', ...env, DATA_DIR },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    if (!t.passing()) process.stderr.write(`${script} said at the end:\n${stderr.slice(-SHOWN)}\n`)
  })
  return {
    /** What it has written to standard error. */
    stderr: () => stderr,
    /** What it has written to standard output. */
    stdout: () => stdout,
    /** Resolves with its exit code; null when a signal ended it. */
    ended,
    stop(signal: NodeJS.Signals) {
      child.kill(signal)
      return ended
    },
  }
}

const SHOWN = 4000
