import { hash } from 'node:crypto'
import { SPLITS } from './recipe.ts'
import type { Recipe } from './recipe.ts'

/** What decides on the split of a trace that is no replay: its own members, and its parent's. */
export interface Unreplayed {
  readonly trace_id: string
  readonly task_id: string | null
  readonly session_id: string | null
  readonly parent_trace_id: string | null
  /** The task of the parent; null where it is not stored. */
  readonly parent_task_id: string | null
  readonly parent_session_id: string | null
}

/** What decides on the split of a trace. */
export interface Anchored extends Unreplayed {
  /** For a replay, the trace that its line of replays began with; its parent is what is known where it is gone. */
  readonly first: Unreplayed | null
}

/**
 * The split of a trace, as an index in `SPLITS`, by what it is an attempt at: its task, else the task or
 * session of its parent, else its parent, else its session, else itself. A replay without a task is in the
 * split of the trace that was replayed first. Nothing else is looked at, neither which traces were selected
 * nor what an earlier version did. So a trace is in one split for ever, in whatever version of whatever
 * dataset it appears, as long as seed and fractions stay.
 *
 * Traces of one session or one replayed source may so come into two splits. Only the traces in one of
 * the two are used, and the others are left out: see `workers/datasets/settle-rows.ts`.
 */
export function splitOf(trace: Anchored, { seed, split }: Pick<Recipe, 'seed' | 'split'>): number {
  const digest = hash('sha256', `${seed}\0${anchorOf(trace)}`, 'hex')
  const share = Number.parseInt(digest.slice(0, 12), 16) / 2 ** 48
  let bound = 0
  let last = 0
  for (const [index, name] of SPLITS.entries()) {
    if (split[name] === 0) continue
    if (share < (bound += split[name])) return index
    last = index
  }
  // The fractions may add up to a little less than 1.
  return last
}

function anchorOf(trace: Anchored): string {
  // A task is in one split, also where a replay names one that its original does not.
  if (trace.task_id !== null) return `task ${trace.task_id}`
  return anchorOfUnreplayed(trace.first ?? trace)
}

function anchorOfUnreplayed(trace: Unreplayed): string {
  if (trace.task_id !== null) return `task ${trace.task_id}`
  if (trace.parent_task_id !== null) return `task ${trace.parent_task_id}`
  if (trace.parent_session_id !== null) return `session ${trace.parent_session_id}`
  if (trace.parent_trace_id !== null) return `trace ${trace.parent_trace_id}`
  if (trace.session_id !== null) return `session ${trace.session_id}`
  return `trace ${trace.trace_id}`
}
