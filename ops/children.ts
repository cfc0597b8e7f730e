import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChildLog } from './child-log.ts'
import type { ChildMessage } from './process.ts'
import { pause } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'

export interface ChildOptions {
  /** What people call it, for example `the import workers`. */
  readonly name: string
  /** File beside this one, and its arguments. */
  readonly script: string
  readonly args?: readonly string[]
  /** Called at each start, with the address the child last listened at, if any. */
  readonly env: (lastAddress: string | undefined) => NodeJS.ProcessEnv
  readonly log: ChildLog
  readonly say: (sentence: string) => void
  /** Called once when starting it again makes no sense; the sentence says why. */
  readonly giveUp: (error: OperatorError) => void
}

export interface Child {
  /** Resolves with its address, if it has one, when it is ready for the first time. */
  readonly ready: Promise<string | undefined>
  /** Asks it to stop, waits at most `graceMs`, then ends it. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>
  /** Ends it at once. */
  kill(): void
}

/**
 * Runs a child process and starts it again when it ends by itself, later each time that it ends
 * quickly, until it has done so `QUICK_ENDS` times in a row. It is in a process group of its own, so
 * that a terminal's Ctrl-C reaches only us, and it stops when its IPC channel to us is gone.
 */
export function keepRunning(options: ChildOptions): Child {
  const stopping = new AbortController()
  const ready = Promise.withResolvers<string | undefined>()
  let current: ChildProcess | undefined
  let address: string | undefined

  async function runOnce(): Promise<End> {
    const startedAt = performance.now()
    const script = fileURLToPath(new URL(options.script, import.meta.url))
    const child = spawn(process.execPath, [script, ...(options.args ?? [])], {
      env: options.env(address),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    current = child
    let operatorError: string | undefined
    child.on('message', (message: ChildMessage) => {
      if ('operatorError' in message) operatorError = message.operatorError
      else ready.resolve((address = message.address))
    })
    for (const stream of [child.stdout, child.stderr]) if (stream) options.log.read(stream)
    const [code, signal]: (number | string | null)[] = await once(child, 'exit')
    current = undefined
    return {
      operatorError,
      how: signal ? String(signal) : `exit code ${code}`,
      ms: performance.now() - startedAt,
    }
  }

  async function run() {
    for (let quickEnds = 0; !stopping.signal.aborted;) {
      const { operatorError, how, ms } = await runOnce()
      if (stopping.signal.aborted) return
      if (operatorError !== undefined) throw new OperatorError(operatorError)
      quickEnds = ms < QUICK_MS ? quickEnds + 1 : 0
      if (quickEnds === QUICK_ENDS) throw hopeless(options, how)
      options.say(`${capital(options.name)} ended unexpectedly (${how}); starting again.`)
      await pause(FIRST_DELAY_MS * 4 ** quickEnds, stopping.signal)
    }
  }
  const running = run().catch((error: unknown) => {
    options.giveUp(error instanceof OperatorError ? error : hopeless(options, String(error)))
  })

  return {
    ready: ready.promise,
    async stop(graceMs) {
      stopping.abort()
      current?.kill('SIGTERM')
      const timer = setTimeout(() => current?.kill('SIGKILL'), graceMs)
      await running
      clearTimeout(timer)
    },
    kill() {
      stopping.abort()
      current?.kill('SIGKILL')
    },
  }
}

function hopeless({ name, log }: ChildOptions, how: string) {
  return new OperatorError(`${capital(name)} cannot run (${how}); ${log.path} tells why.`)
}

function capital(text: string) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const QUICK_MS = 10_000
const QUICK_ENDS = 3
const FIRST_DELAY_MS = 100

interface End {
  /** The foreseen failure that the child reported. */
  readonly operatorError: string | undefined
  readonly how: string
  readonly ms: number
}
