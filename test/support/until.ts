/**
 * Asks until the answer is something; fails after `ms`, which end a test that would hang and are no demand: a machine
 * may be ten times slower than another.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  ms = 600_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + ms
  for (;;) {
    const answer = await ask()
    if (answer) return answer as NonNullable<Exclude<T, false>>
    if (performance.now() > deadline) throw new Error(`Not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
