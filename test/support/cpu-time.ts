/** Milliseconds of processor time that synchronous work takes, which a busy machine does not lengthen. */
export function measureCpuMs(work: () => unknown) {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
