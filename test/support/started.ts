import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { bareEnv } from './bare-env.ts'
import { until } from './until.ts'

/** `npm start` with a free port and, unless told otherwise, without sample data; ended with the test. */
export async function start(t: Test, env: Record<string, string>) {
  const { child, output, stderr } = launch(t, env)
  await until(() => /Stop +Ctrl-C/.test(output()) || child.exitCode !== null)
  const address = /Address +(\S+)/.exec(output())?.[1]
  const key = /API key +(\S+)/.exec(output())?.[1]
  if (!address || !key) throw new Error(`It did not start: ${output()}`)
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${address}/api/v1${path}`, { headers, ...init })
    return { status: response.status, body: (await response.json()) as object }
  }
  return {
    child,
    output,
    stderr,
    address,
    key,
    get: (path: string) => call(path),
    post: (path: string, body: object) =>
      call(path, { method: 'POST', body: JSON.stringify(body) }),
    /** Processes that have written to a log since the folder was made, those of one log or of all. */
    pids: (log = '*') => readPids(env['DATA_DIR'] as string, log),
  }
}

/** A start that is expected to end by itself. */
export async function run(t: Test, env: Record<string, string>) {
  const { child, stderr } = launch(t, env)
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr: stderr() }
}

export function launch(t: Test, env: Record<string, string>) {
  const child = spawn(process.execPath, ['ops/start.ts'], {
    env: { ...bareEnv(), PORT: '0', SEED: 'none', ...env },
  })
  let [output, stderr] = ['', '']
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  return { child, output: () => output + stderr, stderr: () => stderr }
}

async function readPids(dataDir: string, log: string) {
  const pids = new Set<number>()
  for await (const path of glob(join(dataDir, `logs/${log}.log`))) {
    for (const [, pid] of (await readFile(path, 'utf8')).matchAll(/"pid":(\d+)/g))
      pids.add(Number(pid))
  }
  return [...pids]
}

export function isAlive(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A folder that the OS user of an embedded database can enter, whoever runs the tests. */
export async function makeFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-start-'))
  await chmod(folder, 0o755)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}
