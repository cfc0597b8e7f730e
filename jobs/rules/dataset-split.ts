import { createHash } from 'node:crypto'
import { SPLITS } from './dataset-recipe.ts'
import type { Recipe, Split } from './dataset-recipe.ts'

/** What decides on the side of a trace: its own members, and its source's when it is a replay. */
export interface Anchored {
  readonly trace_id: string
  readonly task_id: string | null
  readonly session_id: string | null
  readonly parent_trace_id: string | null
  /** Of the trace it replays; null where that is not stored. */
  readonly parent_task_id: string | null
  readonly parent_session_id: string | null
}

/**
 * The side a trace is on, a place in `SPLITS`, by what it is an attempt at: its task, else the task or
 * session of the trace it replays, else its session, else itself. Nothing else is looked at, neither
 * which traces were selected nor what an earlier version did, so a trace is on one side for ever, in
 * whatever version of whatever dataset it appears, as long as seed and fractions stay.
 *
 * Traces of one session or one replayed source may so come on two sides. Of each such group only the
 * traces of one side are used, and the others are left out: see `workers/datasets/settle-rows.ts`.
 */
export function sideOf(trace: Anchored, { seed, split }: Pick<Recipe, 'seed' | 'split'>): number {
  const digest = createHash('sha256')
    .update(`${seed}\0${anchorOf(trace)}`)
    .digest()
  const share = digest.readUIntBE(0, 6) / 2 ** 48
  const sides = SPLITS.flatMap((name, side) => (split[name] > 0 ? [side] : []))
  let bound = 0
  const side = sides.find((side) => share < (bound += split[SPLITS[side] as Split]))
  // The fractions may add up to a little less than 1.
  return side ?? (sides.at(-1) as number)
}

function anchorOf(trace: Anchored): string {
  if (trace.task_id !== null) return `task ${trace.task_id}`
  if (trace.parent_task_id !== null) return `task ${trace.parent_task_id}`
  if (trace.parent_session_id !== null) return `session ${trace.parent_session_id}`
  if (trace.parent_trace_id !== null) return `trace ${trace.parent_trace_id}`
  if (trace.session_id !== null) return `session ${trace.session_id}`
  return `trace ${trace.trace_id}`
}
