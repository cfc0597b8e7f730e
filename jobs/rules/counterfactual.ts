import type { PolicySettings } from './decision-policy.ts'
import { fuse, groupScores, trustOf } from './quality.ts'
import type { JudgedScore } from './quality.ts'
import { PASS_AT } from './score.ts'
import { decide } from './verdict.ts'
import type { Decision, Evidence } from './verdict.ts'

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
  const without = withoutFinding(evidence, deciding.rule)
  if (without) return phrase(decide(without.evidence, policy), without.condition)
  return nearestScore(evidence, policy, decision, deciding.code)
}

/** The evidence without what one of the rules on the trace itself found. */
function withoutFinding(evidence: Evidence, rule: number) {
  const without = (change: Partial<Evidence>, condition: string) => ({
    evidence: { ...evidence, ...change },
    condition,
  })
  switch (rule) {
    case 1:
      return without({ malformed: null }, 'the conversation were well formed')
    case 2:
      return without({ forbidden: null }, 'training on it were allowed')
    case 3:
      return without({ duplicate_of: null }, `it were not a copy of ${evidence.duplicate_of}`)
    case 4:
    case 5:
    case 8:
      return without({ compatibility: null }, 'it fitted the target manifest')
    case 6:
      return without({ contract: null }, 'the output kept its contract')
    case 9:
      return without({ tool_error_count: 0 }, 'no tool call had failed')
    default:
      return undefined
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
    const told = phrase(after, condition)
    if (after.reasons[0]?.code !== code && told !== phrase(decision, condition)) return told
  }
  return null
}

/** Built-ins follow from the run, so they are what changes only where there is nothing else. */
function movable(scores: readonly JudgedScore[]) {
  const valued = scores.filter(({ category, value }) => category === 'quality' && value !== null)
  const others = valued.filter((score) => trustOf(score) !== 'builtin')
  return others.length > 0 ? others : valued
}

/** The values of one score at which the quality, or the score itself, crosses a line that matters. */
function changesOf(
  score: JudgedScore,
  scores: readonly JudgedScore[],
  policy: PolicySettings,
  { quality_avg }: Decision,
  code: string,
): Change[] {
  const old = score.value as number
  const share = shareOf(score, scores, policy)
  if (quality_avg === null || share <= 0) return []
  const at = (quality: number) => old + (quality - quality_avg) / share
  const lines = [at(policy.keep_at), at(policy.drop_at), policy.drop_at, PASS_AT]
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

function rise(score: JudgedScore, to: number): Change[] {
  const value = Math.ceil(to * 100 - 1e-6) / 100
  if (to > 1 + 1e-6 || value > 1) return []
  const condition = `${score.name} >= ${value}`
  return [{ score, value, condition, distance: Math.abs(value - (score.value as number)) }]
}

function fall(score: JudgedScore, to: number): Change[] {
  const bound = Math.floor(to * 100 + 1e-6) / 100
  if (bound <= 0) return []
  const value = Math.max(0, bound - JUST_BELOW)
  const condition = `${score.name} < ${bound}`
  return [{ score, value, condition, distance: Math.abs(value - (score.value as number)) }]
}

function phrase({ verdict, needs_review }: Decision, condition: string) {
  return `${verdict}${needs_review ? ' with review' : ''} if ${condition}`
}

/** Of many scores only the nearest are worth a look. */
const MAX_TRIED = 12
const JUST_BELOW = 0.001

interface Change {
  score: JudgedScore
  value: number
  condition: string
  distance: number
}
