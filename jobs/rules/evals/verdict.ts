import { VERDICTS } from '../core/verdicts.ts'
import type { EvalVerdict, Verdict } from '../core/verdicts.ts'
import type { PolicySettings } from './decision-policy.ts'
import type { Evidence } from './evidence.ts'
import { atBest, compatibilityAverage, fuse, groupScores } from './quality.ts'
import { isOnScores, RULES } from './verdict-rules.ts'
import type { Facts, Finding, Rule } from './verdict-rules.ts'

/** Why a rule matched; `rule` is its index in the list of rules, counted from 1. */
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
  readonly eval_verdict: EvalVerdict | null
  /** Every rule that matched, the deciding one first, the others in the order of the rules. */
  readonly reasons: readonly Reason[]
}

/**
 * Decides on a trace: the first rule that matches sets the verdict, but a correction only where it makes
 * it better. The result depends on what the evidence is and never on the order it came in. A further score
 * that passes never turns keep into drop. Raising `keep_at` never makes a trace that nobody corrected one
 * to keep without a review, unless somebody said that it needs none.
 */
export function decide(evidence: Evidence, policy: PolicySettings): Decision {
  const facts = factsOf(evidence, policy)
  const matches = findMatches(facts)
  const { deciding, verdict, isDoubted } = settle(matches, facts)
  const others = matches.filter((match) => match !== deciding)
  return {
    verdict,
    needs_review: needsReview(evidence, verdict, isDoubted),
    quality_avg: facts.quality,
    compat_avg: compatibilityAverage(evidence.scores),
    eval_verdict: evalVerdict(facts.quality, policy),
    reasons: [deciding, ...others].map(reasonOf),
  }
}

/** Who corrected a trace has looked at its scores; who says that it needs no review, at all of it. */
function needsReview(
  { flagged, compatibility, correction }: Evidence,
  verdict: Verdict,
  isDoubted: boolean,
) {
  if (flagged === false) return false
  const isAsked = flagged === true || compatibility?.needs_review === true
  return (isDoubted && correction === null) || (isAsked && USABLE.has(verdict))
}

/** What a quality alone says; null without one. */
export function evalVerdict(
  quality: number | null,
  { keep_at, drop_at }: PolicySettings,
): EvalVerdict | null {
  if (quality === null) return null
  if (quality >= keep_at) return 'pass'
  return quality < drop_at ? 'fail' : 'review'
}

function factsOf(evidence: Evidence, policy: PolicySettings): Facts {
  const groups = groupScores(evidence.scores, policy)
  const quality = fuse(groups)
  return {
    ...evidence,
    policy,
    quality,
    best:
      quality === null || quality >= policy.drop_at
        ? quality
        : fuse(groupScores(atBest(evidence.scores, policy), policy)),
    onlyBuiltIns: groups.every(({ trust }) => trust === 'builtin'),
  }
}

/** The rules that match, in their order. The rules on the quality leave no trace without one. */
function findMatches(facts: Facts): [Match, ...Match[]] {
  const [first, ...others] = RULES.flatMap((rule, index) => {
    const finding = rule.decides(facts)
    return finding ? { rule, number: index + 1, finding } : []
  })
  if (!first) throw new Error('No rule matches')
  return [first, ...others]
}

/** The first match decides, unless it only lifts and the one behind it comes to no worse verdict. */
function settle([first, next]: readonly [Match, ...Match[]], facts: Facts): Settled {
  const settled = settleBy(first, facts)
  if (!first.finding.onlyLifts || !next) return settled
  const otherwise = settleBy(next, facts)
  const isLifted = VERDICTS.indexOf(settled.verdict) < VERDICTS.indexOf(otherwise.verdict)
  return isLifted ? settled : otherwise
}

function settleBy(deciding: Match, { onlyBuiltIns, policy }: Facts): Settled {
  const { rule, finding } = deciding
  const isDoubted = finding.isDoubted || (onlyBuiltIns && isOnScores(rule))
  if (isDoubted && policy.on_doubt === 'replay') {
    return { deciding, verdict: 'replay', isDoubted: false }
  }
  return { deciding, verdict: finding.verdict, isDoubted }
}

function reasonOf({ rule, number, finding }: Match): Reason {
  const { code = rule.code, subject, message } = finding
  return { rule: number, code, subject, message }
}

const USABLE: ReadonlySet<Verdict> = new Set(['keep', 'repair'])

interface Settled {
  readonly deciding: Match
  readonly verdict: Verdict
  /** The trace is usable, and somebody should have a look. */
  readonly isDoubted: boolean
}
interface Match {
  readonly rule: Rule
  /** The rule's number on the wire. */
  readonly number: number
  readonly finding: Finding
}
