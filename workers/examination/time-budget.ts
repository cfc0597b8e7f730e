/**
 * The time that all validations of a schema may take: a second of wall time, and a millisecond more for each. Wall
 * time also passes while the processor works for others, so once it is used up, another second of the thread's
 * processor time counts, which takes longer to read.
 * @param clocks in milliseconds; each is read when the one before it is used up
 */
export function openTimeBudget(clocks: readonly Clock[] = [wallMs, cpuMs]) {
  let [readMs, ...others] = clocks
  let leftMs = ALLOWANCE_MS
  return {
    isUsedUp: () => readMs === undefined,
    /** Does the work, whether or not there is time. */
    spend<T>(work: () => T): T {
      if (!readMs) return work()
      const start = readMs()
      const result = work()
      leftMs += USUAL_MS - (readMs() - start)
      if (leftMs < 0) {
        ;[readMs, ...others] = others
        leftMs = ALLOWANCE_MS
      }
      return result
    },
  }
}

function wallMs() {
  return performance.now()
}

/** That of the thread which asks. */
function cpuMs() {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const ALLOWANCE_MS = 1000
const USUAL_MS = 1

type Clock = () => number
