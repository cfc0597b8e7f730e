import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import type { ChildMessage } from '../../ops/process.ts'
import { bareEnv } from './bare-env.ts'

/** What a process went through since it was asked last. */
export interface Watched {
  /** The most processor time its main thread took before others had their turn. */
  readonly holdMs: number
  readonly rssBytes: number
}

/** An API process of its own, which tells what a request does to it; ended with the test. */
export async function startWatchedApi(t: Test, databaseUrl: string) {
  const env = { ...bareEnv(), PORT: '0', LOG_LEVEL: 'error' }
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--import', './test/support/watch-turns.ts', 'ops/start-api.ts'],
    {
      env: { ...env, DATA_DIR: t.testdir(), DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  t.teardown(async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGTERM')) await ended
  })
  const [started] = (await once(child, 'message')) as [ChildMessage]
  if (!('address' in started)) throw new Error(`It did not start: ${JSON.stringify(started)}`)
  return {
    address: started.address,
    /** Ends it at once, whatever it does. */
    kill: () => child.kill('SIGKILL'),
    async watched(): Promise<Watched> {
      const told = once(child, 'message')
      child.send('tell')
      return ((await told) as [Watched])[0]
    },
  }
}
