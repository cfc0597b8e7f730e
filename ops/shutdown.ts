import { once } from 'node:events'

export interface StopRequest {
  /** Aborted when the process was asked to stop. */
  readonly signal: AbortSignal
  /** Gives the signals back to the system, so that nothing keeps the process from ending. */
  release(): void
}

/**
 * Listens for SIGINT, SIGTERM, SIGHUP and for the end of the parent that spawned this process with an
 * IPC channel.
 * @param insist called at each further signal. npm passes on the Ctrl-C that the terminal has sent to
 * all of its processes already, so what follows the first one within `ECHO_MS` is the same keystroke.
 */
export function listenForStop(insist: () => void): StopRequest {
  const stop = new AbortController()
  let toldAt = 0
  function tell() {
    if (stop.signal.aborted && performance.now() - toldAt > ECHO_MS) return insist()
    if (stop.signal.aborted) return
    toldAt = performance.now()
    stop.abort()
  }
  const orphan = () => stop.abort()
  for (const name of SIGNALS) process.on(name, tell)
  process.on('disconnect', orphan)
  return {
    signal: stop.signal,
    release() {
      for (const name of SIGNALS) process.off(name, tell)
      process.off('disconnect', orphan)
    },
  }
}

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** The result of `work`, unless the signal is aborted first: then its reason is thrown. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = aborted(signal).then(() => Promise.reject(signal.reason as Error))
  return Promise.race([work, ended])
}

/** Resolves after `ms`, or earlier when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
  })
}

/** Ends the process with a failure if something still keeps it alive after `ms`. */
export function endWithin(ms: number) {
  setTimeout(() => endNow(1), ms).unref()
}

/** For when nothing orderly is left to do. */
export function endNow(code: number) {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit(code)
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const ECHO_MS = 500
