import type { dispatchReplay } from '../../jobs/dispatch-replay.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { Pushed } from './push-task.ts'

/** What a dispatch has learned of its runner. Times are milliseconds since 1970. */
export interface PushState {
  /** Requests that failed since the last one that did not. */
  failures: number
  /** What the last of them failed of. */
  fault: string | undefined
  isOverQuota: boolean
  /** Nothing is sent before. */
  notBefore: number
  /** Since when no task went out and no answer came. */
  quietSince: number
}

export function readState(checkpoint: PushCheckpoint | undefined, now: Date): PushState {
  const { failures = 0, fault, is_over_quota, not_before, quiet_since = now } = checkpoint ?? {}
  return {
    failures,
    fault,
    isOverQuota: is_over_quota ?? false,
    notBefore: not_before?.getTime() ?? 0,
    quietSince: quiet_since.getTime(),
  }
}

export function toCheckpoint(state: PushState): PushCheckpoint {
  return {
    failures: state.failures,
    ...(state.fault !== undefined && { fault: state.fault }),
    is_over_quota: state.isOverQuota,
    not_before: new Date(state.notBefore),
    quiet_since: new Date(state.quietSince),
  }
}

/** @param backoffSeconds nothing is sent for so long after a failure, times the failures in a row */
export function learn(state: PushState, pushed: Pushed, now: Date, backoffSeconds: number) {
  switch (pushed.kind) {
    case 'aborted':
      return
    case 'later':
      return hold(state, now, pushed.seconds)
    case 'over_quota':
      state.isOverQuota = true
      return
    case 'failed':
      state.failures++
      state.fault = pushed.fault
      return hold(state, now, backoffSeconds * state.failures)
    case 'submitted':
    case 'taken':
    case 'declined':
      state.failures = 0
  }
}

/** A task goes out, or an answer came. */
export function noteNews(state: PushState, now: Date) {
  state.quietSince = now.getTime()
}

/** Nothing is sent for so long from now on. */
function hold(state: PushState, now: Date, seconds: number) {
  state.notBefore = Math.max(state.notBefore, now.getTime() + seconds * 1000)
}

/** Why nothing more is to be sent until a client resumes the batch; undefined as long as all is well. */
export function findPauseReason({ failures, fault, isOverQuota }: PushState): string | undefined {
  if (isOverQuota) return 'quota_exceeded'
  return failures < MAX_FAILURES ? undefined : `runner_failing: ${fault ?? 'unknown'}`
}

/** In a row, without one that did not fail. */
const MAX_FAILURES = 10

type PushCheckpoint = Checkpoint<typeof dispatchReplay>
