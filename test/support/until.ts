import { setTimeout } from 'node:timers/promises'

/**
 * Asks until the answer is something; fails after `ms`, which end a test that would hang and are no demand: a machine
 * may be ten times slower than another. The longer it takes, the less often it asks: what is waited for needs the
 * processor itself.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  ms = 600_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const start = performance.now()
  for (;;) {
    const answer = await ask()
    if (answer) return answer as NonNullable<Exclude<T, false>>
    const waited = performance.now() - start
    if (waited > ms) throw new Error(`Not within ${ms} ms`)
    await setTimeout(Math.min(Math.max(waited / 10, LEAST_MS), MOST_MS))
  }
}

const LEAST_MS = 20
const MOST_MS = 200
