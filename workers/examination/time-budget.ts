/**
 * The time that all validations of a schema may take: a second, and a millisecond more for each. Wall time
 * is read first, because that costs next to nothing. It also passes while the processor works for others,
 * so once it is used up, the validations that follow may take as much again of the thread's processor time.
 */
export function openTimeBudget({ wallMs, cpuMs } = CLOCKS) {
  let readMs = wallMs
  let leftMs = ALLOWANCE_MS
  return {
    isUsedUp: () => leftMs < 0,
    spend<T>(validate: () => T): T {
      const start = readMs()
      const result = validate()
      leftMs += USUAL_MS - (readMs() - start)
      if (leftMs < 0 && readMs === wallMs) {
        readMs = cpuMs
        leftMs = ALLOWANCE_MS
      }
      return result
    },
  }
}

const ALLOWANCE_MS = 1000
const USUAL_MS = 1
const CLOCKS = {
  wallMs: () => performance.now(),
  cpuMs() {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}
