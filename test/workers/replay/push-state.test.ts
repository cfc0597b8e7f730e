import t from 'tap'
import { dispatchReplay } from '../../../jobs/dispatch-replay.ts'
import {
  findPauseReason,
  learn,
  readState,
  toCheckpoint,
} from '../../../workers/replay/push-state.ts'
import type { Pushed } from '../../../workers/replay/push-task.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const FAILED = { kind: 'failed', fault: 'http_status' } as const
const after = (...pushed: readonly Pushed[]) => {
  const state = readState(undefined, NOW)
  for (const one of pushed) learn(state, one, NOW, 2)
  return state
}
const times = (n: number) => Array.from({ length: n }, () => FAILED)

t.test('a dispatch knows in its next run all that it has learned', async (t) => {
  const states = [after(), after(FAILED), after({ kind: 'over_quota' }), after(...times(12))]
  for (const state of states) {
    const stored = JSON.parse(JSON.stringify(toCheckpoint(state)))
    const read = dispatchReplay.checkpoint?.validate(stored)
    t.equal(read?.error, undefined)
    const later = readState(read?.value, new Date('2027-01-01T00:00:00Z'))
    t.same(later, state)
    t.equal(findPauseReason(later), findPauseReason(state))
  }
})

t.test('nothing is sent for the longer, the more failed in a row', async (t) => {
  t.equal(after(FAILED).notBefore, NOW.getTime() + 2000)
  t.equal(after(FAILED, FAILED, FAILED).notBefore, NOW.getTime() + 6000)
  t.equal(after(FAILED, { kind: 'taken' }, FAILED).notBefore, NOW.getTime() + 2000)
  const later = { kind: 'later', seconds: 60 } as const
  t.equal(after(later, FAILED).notBefore, NOW.getTime() + 60_000, 'what a runner asks stands')
})

t.test('a batch is paused by ten failures in a row or by its quota', async (t) => {
  t.equal(findPauseReason(after(...times(9))), undefined)
  t.equal(findPauseReason(after(...times(10))), 'runner_failing: http_status')
  const others = { kind: 'later', seconds: 1 } as const
  t.equal(findPauseReason(after(...times(9), others, { kind: 'aborted' })), undefined)
  t.equal(findPauseReason(after(...times(9), others, FAILED)), 'runner_failing: http_status')
  for (const kind of ['submitted', 'taken', 'declined'] as const) {
    t.equal(findPauseReason(after(...times(9), { kind }, FAILED)), undefined, kind)
  }
  t.equal(findPauseReason(after({ kind: 'over_quota' })), 'quota_exceeded')
})
