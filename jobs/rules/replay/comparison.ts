import { cut } from '../core/reader.ts'
import { roundAverage } from '../core/round.ts'
import type { PolicySettings } from '../evals/decision-policy.ts'
import { fuse, groupScores, isCounted } from '../evals/quality.ts'
import type { JudgedScore } from '../evals/quality.ts'
import { changedShare } from '../manifests/text-change.ts'
import type { Trace } from '../traces/trace.ts'

/** What of a run is compared. */
export interface ComparedRun {
  readonly status: Trace['status']
  /** What the agent answered at last, whole where it is known; null where it answered nothing. */
  readonly output: string | null
  /** The names of the tools it called, in order. */
  readonly tools: readonly string[]
  /** From start to end; null where it does not tell. */
  readonly durationMs: number | null
  readonly costUsd: number | null
  readonly scores: readonly JudgedScore[]
  /** By all its scores; null without any. */
  readonly quality: number | null
}

/** How a replay compares with its original; stored with its task and shown as it is. */
export interface Comparison {
  readonly outcome: 'win' | 'loss' | 'tie'
  /** Which scores decided; null where the replay failed. */
  readonly basis: (typeof BASES)[number] | null
  /** Score of the replay less that of the original; null where one has none or the replay failed. */
  readonly score_delta: number | null
  /** The members below are null where one of the two does not tell. */
  readonly final_output_changed: boolean | null
  readonly tool_path_changed: boolean | null
  readonly latency_delta_ms: number | null
  readonly cost_delta_usd: number | null
}

/** What is known of a replay when it is compared. */
export interface Replayed {
  /** Null where only a score was submitted, or nothing because it failed. */
  readonly run: ComparedRun | null
  /** The runner says that it failed. */
  readonly failed: boolean
  /** The score the runner gave. */
  readonly given: number | null
}

/** Compares like with like: only scores that both runs have, by the policy of their agent. */
export function compareRuns(
  original: ComparedRun,
  replayed: Replayed,
  policy: PolicySettings,
): Comparison {
  const { run } = replayed
  return {
    ...compareScores(original, replayed, policy),
    final_output_changed: run && isOutputChanged(original.output, run.output),
    tool_path_changed: run && !isSameList(original.tools, run.tools),
    latency_delta_ms: differenceOf(original.durationMs, run?.durationMs),
    cost_delta_usd: differenceOf(original.costUsd, run?.costUsd),
  }
}

function compareScores(
  original: ComparedRun,
  replayed: Replayed,
  policy: PolicySettings,
): Pick<Comparison, 'outcome' | 'basis' | 'score_delta'> {
  if (replayed.failed || replayed.run?.status === 'error') {
    const outcome = original.status === 'success' ? 'loss' : 'tie'
    return { outcome, basis: null, score_delta: null }
  }
  const { basis, before, after } = scoreBoth(original, replayed, policy)
  const score_delta = differenceOf(before, after)
  return { outcome: outcomeOf(score_delta), basis, score_delta }
}

/** The scores of evaluators that scored both decide; else what the runner gave; else the built-ins. */
function scoreBoth(original: ComparedRun, { run, given }: Replayed, policy: PolicySettings) {
  const common = fuseCommon(original, run, policy, ({ source_kind }) => source_kind !== 'builtin')
  if (common) return { basis: 'common_scores', ...common } as const
  if (given !== null) {
    return { basis: 'given_score', before: original.quality, after: given } as const
  }
  const builtIn = fuseCommon(original, run, policy, ({ source_kind }) => source_kind === 'builtin')
  return { basis: 'builtins', before: null, after: null, ...builtIn } as const
}

/** The quality of each run by the scores whose names both have; undefined where these tell nothing. */
function fuseCommon(
  original: ComparedRun,
  run: ComparedRun | null,
  policy: PolicySettings,
  isMeant: (score: JudgedScore) => boolean,
) {
  if (!run) return undefined
  const meant = (each: ComparedRun) =>
    each.scores.filter((score) => isMeant(score) && isCounted(score))
  const [mine, theirs] = [meant(original), meant(run)]
  const before = fuse(groupScores(shared(mine, theirs), policy))
  const after = fuse(groupScores(shared(theirs, mine), policy))
  return before === null || after === null ? undefined : { before, after }
}

function shared(scores: readonly JudgedScore[], others: readonly JudgedScore[]) {
  const names = new Set(others.map(({ name }) => name))
  return scores.filter(({ name }) => names.has(name))
}

function outcomeOf(delta: number | null) {
  if (delta === null || Math.abs(delta) < DECISIVE) return 'tie'
  return delta > 0 ? 'win' : 'loss'
}

function isOutputChanged(before: string | null, after: string | null) {
  if (before === null || after === null) return before !== after
  return similarity(before.trim(), after.trim()) < ALIKE
}

/**
 * How alike two texts are, 0 to 1: what `changedShare` leaves, with marks and ideographs counted as words.
 * Of long texts the beginnings are compared so, and of the whole only the lengths.
 */
function similarity(a: string, b: string) {
  if (a === b) return 1
  const unchanged = 1 - changedShare(spaced(cut(a, MAX_COMPARED)), spaced(cut(b, MAX_COMPARED)))
  const [shorter, longer] = [Math.min(a.length, b.length), Math.max(a.length, b.length)]
  return longer > MAX_COMPARED ? Math.min(unchanged, shorter / longer) : unchanged
}

function spaced(text: string) {
  return text.replaceAll(SINGLE, ' $& ')
}

function isSameList(a: readonly string[], b: readonly string[]) {
  return a.length === b.length && a.every((each, i) => each === b[i])
}

/** To six decimals, so that .75 is .05 more than .7. */
function differenceOf(before: number | null, after: number | null | undefined) {
  if (before === null || after === null || after === undefined) return null
  return roundAverage(after - before)
}

export const BASES = ['common_scores', 'given_score', 'builtins'] as const
/** A difference of scores from here on is a win or a loss. */
const DECISIVE = 0.05
/** Texts less alike than this are different answers. */
const ALIKE = 0.98
/** Characters of a text whose words are compared. */
const MAX_COMPARED = 32 << 10
/** Characters that are words by themselves. */
const SINGLE = /[\p{P}\p{S}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu
