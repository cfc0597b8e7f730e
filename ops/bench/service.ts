import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { findFreePort } from '../free-port.ts'
import type { Bench } from './prepare.ts'

/** An API in this process and the workers of one pool in a process of their own. */
export async function startService({ url, key }: Bench, folder: string, pool: string) {
  const settings = { DATABASE_URL: url, DATA_DIR: folder, LOG_LEVEL: 'warn' }
  const opened = await openApiContext(readConfig(settings), url)
  const api = await createApi(opened.context)
  const worker = spawn(process.execPath, ['ops/start-workers.ts', '--pool', pool], {
    env: { ...process.env, ...settings, HEALTH_PORT: String(await findFreePort()) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  async function call<Answer>(method: string, path: string, payload?: object): Promise<Answer> {
    if (worker.exitCode !== null) throw new Error(`The worker ended with ${worker.exitCode}`)
    const headers = { authorization: `Bearer ${key}`, prefer: 'respond-async' }
    const options = { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) }
    return JSON.parse((await api.inject(options)).payload)
  }
  return {
    pid: worker.pid,
    call,
    /** What a job came to, and how long it ran. @throws Error when it did not succeed */
    async waitForJob<Result>(id: string) {
      for (;;) {
        const job = await call<Job<Result>>('GET', `/jobs/${id}`)
        if (job.error) throw new Error(JSON.stringify(job.error))
        if (job.done) return { seconds: secondsOf(job), result: job.result }
        await setTimeout(200)
      }
    },
    async stop() {
      if (worker.kill('SIGTERM')) await once(worker, 'exit')
      await api.stop()
      await opened.close()
    },
  }
}

function secondsOf({ started_at, finished_at }: Job<unknown>) {
  return (Date.parse(finished_at) - Date.parse(started_at)) / 1000
}

/** Its result and times are there once it is done. */
interface Job<Result> {
  readonly done: boolean
  readonly error: unknown
  readonly result: Result
  readonly started_at: string
  readonly finished_at: string
}
