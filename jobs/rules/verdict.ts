import type { PolicySettings } from './decision-policy.ts'
import { atBest, compatibilityAverage, fuse, groupScores, trustOf } from './quality.ts'
import type { JudgedScore } from './quality.ts'
import { isPass, PASS_AT } from './score.ts'

/** What is known of a trace when it is decided on. */
export interface Evidence {
  /** `malformed.*`: why the content cannot be trained on. */
  readonly malformed: string | null
  /** `policy.*`: why it may not be trained on. */
  readonly forbidden: string | null
  /** The older trace with the same conversation. */
  readonly duplicate_of: string | null
  /** How the trace fits the target manifest; null without an analysis. */
  readonly compatibility: CompatibilityEvidence | null
  /** How the outcome broke the output contract; null when it did not, or there is none. */
  readonly contract: { readonly subject: string; readonly rerunnable: boolean } | null
  readonly tool_error_count: number
  /** Somebody wants a person to look at the trace. */
  readonly flagged: boolean
  readonly scores: readonly JudgedScore[]
}

export interface CompatibilityEvidence {
  readonly verdict: Verdict
  /** Usable as the verdict says, but somebody should have a look. */
  readonly needs_review: boolean
  /** The first one that matters: `compat.*`. */
  readonly code: string
  readonly subject: string
  readonly message: string
}

export type Verdict = 'keep' | 'repair' | 'replay' | 'drop'

/** Why a rule matched; `rule` is its place in the order of the rules. */
export interface Reason {
  readonly rule: number
  readonly code: string
  readonly subject: string
  readonly message: string
}

export interface Decision {
  readonly verdict: Verdict
  readonly needs_review: boolean
  readonly quality_avg: number | null
  readonly compat_avg: number | null
  /** What the scores alone say; null without any. */
  readonly eval_verdict: 'pass' | 'review' | 'fail' | null
  /** Every rule that matched, the deciding one first. */
  readonly reasons: readonly Reason[]
}

/**
 * Decides on a trace: the first rule that matches sets the verdict. The result depends on what the
 * evidence is and never on the order it came in. A further score that passes never turns keep into
 * drop; raising `keep_at` never makes a trace one to keep without a review.
 */
export function decide(evidence: Evidence, policy: PolicySettings): Decision {
  const groups = groupScores(evidence.scores, policy)
  const quality = fuse(groups)
  const facts: Facts = {
    ...evidence,
    policy,
    quality,
    best:
      quality === null || quality >= policy.drop_at
        ? quality
        : fuse(groupScores(atBest(evidence.scores, policy), policy)),
    onlyBuiltIns: groups.every(({ trust }) => trust === 'builtin'),
  }
  const matches = RULES.flatMap((rule) => rule(facts) ?? [])
  const [deciding] = matches as [Match]
  const doubted = deciding.doubted || (facts.onlyBuiltIns && deciding.rule >= FIRST_RULE_ON_SCORES)
  const replayed = doubted && policy.on_doubt === 'replay'
  const verdict = replayed ? 'replay' : deciding.verdict
  const flagged = (evidence.flagged || evidence.compatibility?.needs_review) && USABLE.has(verdict)
  return {
    verdict,
    needs_review: (doubted && !replayed) || flagged === true,
    quality_avg: quality,
    compat_avg: compatibilityAverage(evidence.scores),
    eval_verdict: evalVerdict(quality, policy),
    reasons: matches.map(({ rule, code, subject, message }) => ({ rule, code, subject, message })),
  }
}

/** What a quality alone says; null without one. */
export function evalVerdict(quality: number | null, { keep_at, drop_at }: PolicySettings) {
  if (quality === null) return null
  if (quality >= keep_at) return 'pass'
  return quality < drop_at ? 'fail' : 'review'
}

/** In order; a trace without an analysis of its compatibility skips 4, 5 and 8. */
const RULES: readonly ((facts: Facts) => Match | undefined)[] = [
  ({ malformed }) =>
    malformed === null
      ? undefined
      : match(1, malformed, 'content', 'The conversation is not well formed', 'drop'),
  ({ forbidden }) =>
    forbidden === null
      ? undefined
      : match(2, forbidden, 'metadata', 'The trace is marked as not to be trained on', 'drop'),
  ({ duplicate_of }) =>
    duplicate_of === null
      ? undefined
      : match(
          3,
          'duplicate.exact',
          duplicate_of,
          `The older trace ${duplicate_of} has the same conversation`,
          'drop',
        ),
  (facts) => compatibility(4, 'drop', facts),
  (facts) => compatibility(5, 'replay', facts),
  ({ contract }) =>
    contract === null
      ? undefined
      : match(
          6,
          'contract.outcome',
          contract.subject,
          'The outcome breaks the output contract',
          contract.rerunnable ? 'replay' : 'drop',
        ),
  // By the best that can be said for the scores: where passing scores below their full mark are all
  // that pulls the quality under the line, one more pass must not be what drops the trace.
  ({ quality, best, policy }) =>
    quality === null || best === null || best >= policy.drop_at
      ? undefined
      : match(7, 'score.bad', 'quality', `Quality ${quality} is below ${policy.drop_at}`, 'drop'),
  (facts) => compatibility(8, 'repair', facts),
  ({ tool_error_count: errors, quality, policy }) =>
    errors === 0 || quality === null || quality < policy.keep_at
      ? undefined
      : match(
          9,
          'step.masked',
          'tool_calls',
          `${errors} tool calls failed in a good run`,
          'repair',
        ),
  disagreement,
  ({ quality, policy }) =>
    quality === null || quality < policy.keep_at
      ? undefined
      : match(
          11,
          'score.good',
          'quality',
          `Quality ${quality} is at least ${policy.keep_at}`,
          'keep',
        ),
  ({ quality, best, policy }) =>
    quality === null || quality >= policy.keep_at || (best as number) < policy.drop_at
      ? undefined
      : match(
          12,
          'score.middling',
          'quality',
          `Quality ${quality} is below ${policy.keep_at}, yet not bad enough to drop`,
          'keep',
          DOUBTED,
        ),
  ({ onlyBuiltIns, quality }) => {
    if (quality === null)
      return match(13, 'score.none', 'quality', 'No score tells', 'keep', DOUBTED)
    if (!onlyBuiltIns) return undefined
    return match(13, 'score.builtin_only', 'quality', 'Only built-in scores tell', 'keep', DOUBTED)
  },
]

function compatibility(rule: number, verdict: Verdict, { compatibility: found }: Facts) {
  if (found?.verdict !== verdict) return undefined
  return match(rule, found.code, found.subject, found.message, verdict)
}

/** A pass and a fail among evaluators that are trusted. */
function disagreement({ scores, policy }: Facts) {
  const trusted = scores.filter(
    (score) =>
      score.category === 'quality' &&
      score.value !== null &&
      policy.source_weights[trustOf(score)] >= TRUSTED,
  )
  const passing = leastName(trusted.filter(isPass))
  const failing = leastName(trusted.filter((score) => isFail(score, policy)))
  if (passing === undefined || failing === undefined) return undefined
  const message = `${passing} passes and ${failing} fails`
  return match(10, 'score.conflict', failing, message, 'keep', DOUBTED)
}

function isFail({ value, passed }: JudgedScore, { drop_at }: PolicySettings) {
  return passed === null ? (value as number) < Math.min(drop_at, PASS_AT) : !passed
}

function leastName(scores: readonly JudgedScore[]) {
  return scores.map(({ name }) => name).sort()[0]
}

function match(
  rule: number,
  code: string,
  subject: string,
  message: string,
  verdict: Verdict,
  doubted = false,
): Match {
  return { rule, code, subject, message, verdict, doubted }
}

const DOUBTED = true
const USABLE: ReadonlySet<Verdict> = new Set(['keep', 'repair'])
/** Rules from here on look at scores, and are in doubt when only built-ins tell. */
const FIRST_RULE_ON_SCORES = 7
/** Evaluators whose kind weighs at least this much. */
const TRUSTED = 0.6

interface Facts extends Evidence {
  policy: PolicySettings
  quality: number | null
  best: number | null
  onlyBuiltIns: boolean
}

interface Match extends Reason {
  verdict: Verdict
  /** Kept for a review, or replayed, as the policy has it. */
  doubted: boolean
}
