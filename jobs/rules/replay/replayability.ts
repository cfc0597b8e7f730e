import { isReplayable } from '../traces/trace-use.ts'
import { readRequest, recordedTools } from './recorded-run.ts'
import type { RecordedTrace } from './recorded-run.ts'

/** With how much of what was recorded the agent can be asked again. */
export const REPLAYABILITIES = ['full', 'partial', 'none'] as const
export type Replayability = (typeof REPLAYABILITIES)[number]

/** Why a task is skipped when it is made. */
export type SkipReason =
  | 'running'
  | 'no_user_input'
  | 'not_replayable'
  | 'trace_gone'
  | 'trace_unreadable'
  | 'other_manifest'

/** What a trace is good for; `reason` is null unless that is nothing. */
export interface Judged {
  readonly replayability: Replayability
  readonly reason: SkipReason | null
}

/**
 * `full`: what the user asked is known whole, and the result of every tool call is. `partial`: a result
 * is missing, or only the beginning of what the user asked is known. `none`: it runs still, is marked as
 * not to be replayed, or says nothing of the user.
 */
export function judgeReplayability(trace: RecordedTrace): Judged {
  if (trace.status === 'running') return unfit('running')
  if (!trace.user_input_preview) return unfit('no_user_input')
  if (!isReplayable(trace)) return unfit('not_replayable')
  const isKnown = readRequest(trace).isWhole && recordedTools(trace).every(hasResult)
  return { replayability: isKnown ? 'full' : 'partial', reason: null }
}

function hasResult({ result }: { readonly result: unknown }) {
  return result !== null && result !== undefined
}

function unfit(reason: SkipReason): Judged {
  return { replayability: 'none', reason }
}
