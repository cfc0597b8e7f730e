import type { Test } from 'tap'
import { LONG } from './stage.ts'

/**
 * Holds what took some time to the time that ops/docs/reliability.md tells, in the long form of the
 * faults only: it has the machine to itself.
 */
export function checkPace(t: Test, seconds: number, limitSeconds: number, what: string) {
  if (LONG) t.ok(seconds <= limitSeconds, `${what}: ${seconds.toFixed(2)} s of ${limitSeconds} s`)
}
