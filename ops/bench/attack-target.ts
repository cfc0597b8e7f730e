import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from '../../sql/core/db.ts'
import { findFreePort } from '../free-port.ts'
import type { ChildMessage } from '../process.ts'
import type { Holds, ProbeQuestion } from './attack-probe.ts'
import { peakMiB } from './figures.ts'
import { openBenchFolder } from './prepare.ts'

/** The service as attackers meet it: an API process with a probe in it, and workers where they are wanted. */
export interface Target {
  readonly sql: Sql
  /** Where its files are. */
  readonly folder: string
  readonly api: ChildProcess
  readonly address: string
  /** Starts a process of ours that ends with the target. */
  readonly startChild: (args: readonly string[], env?: NodeJS.ProcessEnv) => ChildProcess
  /** Starts a process of workers of some pools, named with commas between them. */
  readonly startWorkers: (pools: string) => Promise<ChildProcess>
}

/** @param opened ends the processes and removes the files when it is disposed of */
export async function openTarget(
  opened: AsyncDisposableStack,
  { url, sql }: { readonly url: string; readonly sql: Sql },
): Promise<Target> {
  const { path: folder } = opened.use(await openBenchFolder('attacks'))
  const settings = {
    DATABASE_URL: url,
    DATA_DIR: folder,
    LOG_LEVEL: 'fatal',
    PORT: '0',
    PAYMENT_WEBHOOK_SECRET: 'whsec_attacks',
  }
  const startChild = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...settings, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    opened.defer(() => end(child))
    return child
  }
  const probe = import.meta.resolve('./attack-probe.ts')
  const api = startChild(['--import', probe, 'ops/start-api.ts'])
  return {
    sql,
    folder,
    api,
    address: await readyAddress(api),
    startChild,
    async startWorkers(pools) {
      const port = String(await findFreePort())
      const workers = startChild(['ops/start-workers.ts', '--pool', pools], { HEALTH_PORT: port })
      await readyAddress(workers)
      return workers
    },
  }
}

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function readyAddress(child: ChildProcess) {
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('A part did not start')))
  ended.catch(() => undefined)
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [ChildMessage]
  if ('ready' in message) return message.address ?? ''
  throw new Error(message.operatorError)
}

/**
 * Watches the memory and the event loop of the API until it is stopped. A question that the probe does
 * not answer in time counts as a hold of the time since its last answer.
 */
export function watchApi(api: ChildProcess) {
  let holds: Holds = { holdMs: 0, holdCpuMs: 0 }
  let [answeredAt, rssMib] = [performance.now(), 0]
  let isAsked = false
  const hear = (told: Holds) => {
    ;[holds, answeredAt, isAsked] = [told, performance.now(), false]
  }
  const ask = (question: ProbeQuestion) => {
    if (isAsked || !api.connected) return
    isAsked = true
    api.send(question, () => undefined)
  }
  const look = async () => {
    rssMib = await peakMiB(api.pid).catch(() => rssMib)
    ask('holds')
  }
  api.on('message', hear)
  ask('begin')
  const timer = setInterval(() => void look(), WATCH_MS)
  return {
    async stop() {
      clearInterval(timer)
      await look()
      const deadline = performance.now() + ANSWER_MS
      while (isAsked && performance.now() < deadline) await setTimeout(WATCH_MS / 5)
      const openMs = isAsked ? performance.now() - answeredAt : 0
      api.off('message', hear)
      return {
        rssMib,
        holdMs: Math.round(Math.max(holds.holdMs, openMs)),
        holdCpuMs: Math.round(holds.holdCpuMs),
      }
    },
  }
}

const WATCH_MS = 100
const ANSWER_MS = 2000
