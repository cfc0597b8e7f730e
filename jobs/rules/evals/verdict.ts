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
  /** Every rule that matched, the deciding one first. */
  readonly reasons: readonly Reason[]
}

/**
 * Decides on a trace: the first rule that matches sets the verdict. The result depends on what the
 * evidence is and never on the order it came in. A further score that passes never turns keep into
 * drop; raising `keep_at` never makes a trace one to keep without a review.
 */
export function decide(evidence: Evidence, policy: PolicySettings): Decision {
  const facts = factsOf(evidence, policy)
  const matches = findMatches(facts)
  const [{ rule, finding }] = matches
  const isDoubted = finding.isDoubted || (facts.onlyBuiltIns && isOnScores(rule))
  const isReplayed = isDoubted && policy.on_doubt === 'replay'
  const verdict = isReplayed ? 'replay' : finding.verdict
  const flagged = (evidence.flagged || evidence.compatibility?.needs_review) && USABLE.has(verdict)
  return {
    verdict,
    needs_review: (isDoubted && !isReplayed) || flagged === true,
    quality_avg: facts.quality,
    compat_avg: compatibilityAverage(evidence.scores),
    eval_verdict: evalVerdict(facts.quality, policy),
    reasons: matches.map(reasonOf),
  }
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

function reasonOf({ rule, number, finding }: Match): Reason {
  const { code = rule.code, subject, message } = finding
  return { rule: number, code, subject, message }
}

const USABLE: ReadonlySet<Verdict> = new Set(['keep', 'repair'])

interface Match {
  readonly rule: Rule
  /** The rule's number on the wire. */
  readonly number: number
  readonly finding: Finding
}
