import { OUTPUT_CORRECTED, STEPS_MASKED } from '../core/verdicts.ts'
import type { EvalVerdict, Verdict } from '../core/verdicts.ts'
import type { TraceContent } from '../traces/trace.ts'
import { isMiddling } from './pairs.ts'
import type { Preference } from './pairs.ts'
import type { Recipe } from './recipe.ts'

/** What is known of a trace that was selected, beside its content. */
export interface Candidate extends Preference {
  readonly trace_id: string
  readonly agent_name: string
  readonly manifest_hash: string | null
  readonly verdict: Verdict
  readonly eval_verdict: EvalVerdict | null
  /** Quality, 0 to 1; null without a score that counts. */
  readonly quality: number | null
  /** By name; the mean where several sources gave one. */
  readonly scores: Readonly<Record<string, number>>
  readonly task_id: string | null
  readonly session_id: string | null
  /** The trace it replays; null when it is no replay. */
  readonly source_trace_id: string | null
  /**
   * What it is an attempt at: traces with one value are compared. That of a replay is its source's,
   * whatever task it names itself. Null when nothing is told, and where no pairs are made.
   */
  readonly attempted: string | null
  readonly manifest_id: string | null
  /** Codes of all reasons for the verdict, the deciding one first. */
  readonly reasons: readonly string[]
  /** The revision that stands for its content; null without one, and where none is looked for. */
  readonly repair: Repair | null
  /** The task it is the result of; null when it is none, and where no pairs are made. */
  readonly replay: ReplayResult | null
  /** The newest annotation that corrects its output; null without one, and where none is looked for. */
  readonly annotation_id: string | null
}

/** A revision of a trace: what it says, patched to fit the target manifest of its verdict. */
export interface Repair {
  readonly batch_id: string
  readonly target_manifest_id: string
  /** Without `sha256:` before it, as traces have theirs. */
  readonly target_manifest_hash: string
  /** Of the rules of the batch those that were applied, by index. */
  readonly rules: readonly number[]
  /** SHA-256 of the patched content, hexadecimal. */
  readonly content_hash: string
}

export interface ReplayResult {
  readonly batch_id: string
  readonly task_id: string
  /** How the replay compares with its source; null where nothing was compared. */
  readonly outcome: string | null
}

/** A trace's content with the previews that stand for it where it has no LLM call. */
export type CandidateContent = Pick<TraceContent, 'llm_calls'> & {
  readonly user_input_preview: string | null
  readonly final_output_preview: string | null
  /** What a person wrote in the place of its output. */
  readonly corrected_output: string | null
}

/** Why a selected trace gives no row of this type whatever it says, or undefined. */
export function ineligibility(candidate: Candidate, { dataset_type: type }: Recipe) {
  const [reason] = candidate.reasons
  if (reason?.startsWith('policy.') || reason?.startsWith('malformed.')) return reason
  switch (type) {
    case 'sft':
      return isUnrepaired(candidate) ? 'unrepaired' : undefined
    case 'kto':
      if (candidate.eval_verdict === null) return 'unscored'
      return candidate.eval_verdict === 'review' ? 'middling' : undefined
    case 'dpo':
      // Compared with its correction and not with other attempts.
      if (candidate.annotation_id !== null) return undefined
      if (candidate.quality === null) return 'unscored'
      if (candidate.attempted === null) return 'no_task'
      if (candidate.preferred !== null) return undefined
      return isMiddling(candidate.quality) ? 'middling' : undefined
  }
}

/** Whether the steps that failed are masked, because they are a reason to repair the trace. */
export function isMasked({ verdict, reasons }: Candidate) {
  return verdict === 'repair' && reasons.includes(STEPS_MASKED)
}

/**
 * Whether the reason that decided to repair the trace is without its patch. Calls that do not fit the
 * target manifest need theirs also where another reason decided.
 */
function isUnrepaired(candidate: Candidate) {
  if (candidate.verdict !== 'repair') return false
  const [deciding = '', ...others] = candidate.reasons
  return ![deciding, ...others.filter(isOfCalls)].every((code) => hasPatch(code, candidate))
}

/** Failed steps can always be masked. */
function hasPatch(code: string, { repair, annotation_id }: Patches) {
  if (isOfCalls(code)) return repair !== null
  return code === STEPS_MASKED || (code === OUTPUT_CORRECTED && annotation_id !== null)
}

function isOfCalls(code: string) {
  return code.startsWith('compat.')
}

type Patches = Pick<Candidate, 'repair' | 'annotation_id'>
