import type { Test } from 'tap'

/**
 * Compares how long something took with what it may take, where the machine is free to keep it: under
 * `npm run test:faults`. In `npm test`, where files share two cores, it is only told.
 */
export function checkPace(t: Test, seconds: number, limitSeconds: number, what: string) {
  const told = `${what}: ${seconds.toFixed(2)} s of ${limitSeconds} s`
  if (process.env['FAULTS'] === 'long') t.ok(seconds <= limitSeconds, told)
  else t.comment(told)
}
