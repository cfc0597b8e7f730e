/** Asks until the answer is something, at most `ms`; fails otherwise. */
export async function until<T>(
  ask: () => T | Promise<T>,
  ms = 60_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + ms
  for (;;) {
    const answer = await ask()
    if (answer) return answer as NonNullable<Exclude<T, false>>
    if (performance.now() > deadline) throw new Error(`Not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
