import { VERDICTS } from '../core/verdicts.ts'
import type { Verdict } from '../core/verdicts.ts'
import type { PolicySettings } from './decision-policy.ts'
import type { Evidence } from './evidence.ts'
import { fuse, groupScores, isCounted, trustOf } from './quality.ts'
import type { CountedScore, JudgedScore } from './quality.ts'
import { PASS_AT } from './score.ts'
import { RULES } from './verdict-rules.ts'
import { decide } from './verdict.ts'
import type { Decision } from './verdict.ts'

/**
 * The smallest single change of the evidence after which another rule decides, and the verdict then:
 * `keep if helpfulness >= 0.72`. Null when no single change does it. What the deciding rule found in
 * the trace itself comes first; among scores the one that has to move least, ties by name.
 */
export function counterfactual(
  evidence: Evidence,
  policy: PolicySettings,
  decision: Decision,
): string | null {
  const [deciding] = decision.reasons
  if (!deciding) return null
  const change = RULES[deciding.rule - 1]?.without?.(evidence)
  if (change) return phrase(decide(change.evidence, policy), change.condition)
  return nearestScore(evidence, policy, decision, deciding.code)
}

/** What a counterfactual says, as data. */
interface CounterfactualChange {
  /** What would be decided then. */
  verdict: Verdict
  needs_review: boolean
  /** The score that would have to move, or the condition in words where no score does. */
  subject: string
  /** How the score would compare to `value`, which is 0 to 1; both null where no score has to move. */
  op: '>=' | '<' | null
  value: number | null
  /** The whole counterfactual. */
  text: string
}

/**
 * Reads what `counterfactual` has written. Null for null, and for a text that it would not write, as
 * restored backups may hold.
 * @param code of the reason that decided: names of scores may read like the conditions of other rules
 */
export function readCounterfactual(
  text: string | null,
  code: string | undefined,
): CounterfactualChange | null {
  const [, verdict, review, condition] = PHRASE.exec(text ?? '') ?? []
  if (text === null || condition === undefined) return null
  const [, score, op, value] = (code?.startsWith('score.') && MOVED_SCORE.exec(condition)) || []
  return {
    verdict: verdict as Verdict,
    needs_review: review !== undefined,
    subject: score ?? condition,
    op: (op as '>=' | '<' | undefined) ?? null,
    value: value === undefined ? null : Number(value),
    text,
  }
}

function nearestScore(
  evidence: Evidence,
  policy: PolicySettings,
  decision: Decision,
  code: string,
) {
  const changes = movable(evidence.scores).flatMap((score) =>
    changesOf(score, evidence.scores, policy, decision, code),
  )
  changes.sort((a, b) => a.distance - b.distance || (a.condition < b.condition ? -1 : 1))
  for (const { score, value, condition } of changes.slice(0, MAX_TRIED)) {
    const changed = { ...score, value, passed: null }
    const scores = evidence.scores.map((each) => (each === score ? changed : each))
    const after = decide({ ...evidence, scores }, policy)
    const text = phrase(after, condition)
    if (after.reasons[0]?.code !== code && text !== phrase(decision, condition)) return text
  }
  return null
}

/** Built-ins follow from the run, so they are what changes only where there is nothing else. */
function movable(scores: readonly JudgedScore[]) {
  const valued = scores.filter(isCounted)
  const others = valued.filter((score) => trustOf(score) !== 'builtin')
  return others.length > 0 ? others : valued
}

/** The values of one score at which the quality, or the score itself, crosses a line that matters. */
function changesOf(
  score: CountedScore,
  scores: readonly JudgedScore[],
  policy: PolicySettings,
  { quality_avg }: Decision,
  code: string,
): Change[] {
  const old = score.value
  const share = shareOf(score, scores, policy)
  if (quality_avg === null) return []
  const at = (quality: number) => (share > 0 ? [old + (quality - quality_avg) / share] : [])
  const lines = [...at(policy.keep_at), ...at(policy.drop_at), policy.drop_at, PASS_AT]
  return lines.flatMap((line) => {
    if (line > old) return code === 'score.good' ? [] : rise(score, line)
    return code === 'score.bad' ? [] : fall(score, line)
  })
}

/** How much the quality moves when a score moves by 1; it is linear in each. */
function shareOf(score: JudgedScore, scores: readonly JudgedScore[], policy: PolicySettings) {
  const at = (value: number) =>
    fuse(
      groupScores(
        scores.map((each) => (each === score ? { ...each, value } : each)),
        policy,
      ),
    )
  return (at(1) ?? 0) - (at(0) ?? 0)
}

function rise(score: CountedScore, to: number): Change[] {
  const value = Math.ceil(to * 100 - 1e-6) / 100
  if (to > 1 + 1e-6 || value > 1) return []
  const condition = `${score.name} >= ${value}`
  return [{ score, value, condition, distance: Math.abs(value - score.value) }]
}

function fall(score: CountedScore, to: number): Change[] {
  const bound = Math.floor(to * 100 + 1e-6) / 100
  if (bound <= 0) return []
  const value = Math.max(0, bound - JUST_BELOW)
  const condition = `${score.name} < ${bound}`
  return [{ score, value, condition, distance: Math.abs(value - score.value) }]
}

function phrase({ verdict, needs_review }: Decision, condition: string) {
  return `${verdict}${needs_review ? ' with review' : ''} if ${condition}`
}

/** What `phrase` writes, and the conditions of `rise` and `fall`. */
const PHRASE = new RegExp(`^(${VERDICTS.join('|')})( with review)? if (.+)$`, 's')
const MOVED_SCORE = /^(.+) (>=|<) (\d(?:\.\d{1,2})?)$/s

/** Changes tried: among many only the nearest are worth a look. */
const MAX_TRIED = 12
const JUST_BELOW = 0.001

interface Change {
  score: CountedScore
  value: number
  condition: string
  distance: number
}
