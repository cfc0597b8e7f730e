// Preloaded into a process by `node --import`: measures how long its main thread is held, and tells the
// parent when it asks. A hold is the time between two turns of a timer, less the time it was set to.
import { isMainThread } from 'node:worker_threads'

/** What the parent is told: the longest hold since it was last told to begin, by the clock and in time of the processor. */
export interface Holds {
  readonly holdMs: number
  readonly holdCpuMs: number
}

/** `begin` forgets the holds so far; both are answered with the holds since then. */
export type ProbeQuestion = 'begin' | 'holds'

const TICK_MS = 5

if (isMainThread) {
  let [holdMs, holdCpuMs] = [0, 0]
  let [at, cpuMs] = [performance.now(), threadCpuMs()]
  const look = () => {
    const [nowAt, nowCpuMs] = [performance.now(), threadCpuMs()]
    holdMs = Math.max(holdMs, nowAt - at - TICK_MS)
    holdCpuMs = Math.max(holdCpuMs, nowCpuMs - cpuMs)
    ;[at, cpuMs] = [nowAt, nowCpuMs]
  }
  setInterval(look, TICK_MS).unref()
  process.on('message', (question: ProbeQuestion) => {
    look()
    if (question === 'begin') [holdMs, holdCpuMs] = [0, 0]
    process.send?.({ holdMs, holdCpuMs } satisfies Holds)
  })
}

function threadCpuMs() {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
