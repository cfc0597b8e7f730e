import { order } from '../core/order.ts'
import { roundAverage } from '../core/round.ts'
import type { PolicySettings, Trust } from './decision-policy.ts'
import { PASS_AT } from './score.ts'
import type { NewScore } from './score.ts'

/** What of a score matters to the decision on its trace. */
export type JudgedScore = Pick<
  NewScore,
  'name' | 'source' | 'source_kind' | 'source_label' | 'value' | 'passed' | 'category'
> & {
  /** Judges of one family (say, on one model) are one vote; null for a family of its own. */
  readonly family: string | null
}

export type CountedScore = JudgedScore & { readonly value: number }

/** Scores of one source and label, and how much their average counts in the quality. */
export interface SourceGroup<Score extends JudgedScore = JudgedScore> {
  readonly trust: Trust
  readonly source: Score['source']
  readonly source_kind: Score['source_kind']
  readonly source_label: string | null
  readonly average: number
  /** The trust of its kind, shared evenly by the groups of that kind; 0 where people decide. */
  readonly weight: number
  readonly scores: readonly Score[]
}

/**
 * The quality scores by source. Labels and compatibility scores are in none. Inside a group the scores
 * of a name, or of a family of judges, are averaged to one vote first. Where people scored and the
 * policy heeds them, nobody else has weight.
 */
export function groupScores<Score extends JudgedScore>(
  scores: readonly Score[],
  { source_weights }: PolicySettings,
): SourceGroup<Score>[] {
  const bySource = Map.groupBy(scores.filter(isCounted), sourceKey)
  const ordered = [...bySource].sort(([a], [b]) => order(a, b))
  const groups = ordered.flatMap(([, scores]) => {
    const [first] = scores
    return first ? [{ first, trust: trustOf(first), scores }] : []
  })
  const peopleDecide = source_weights.human > 0 && groups.some(({ trust }) => trust === 'human')
  return groups.map(({ first: { source, source_kind, source_label }, trust, scores }) => {
    const ofTrust = groups.filter((group) => group.trust === trust).length
    const weight = peopleDecide && trust !== 'human' ? 0 : source_weights[trust] / ofTrust
    const average = averageOf(scores)
    return { trust, source, source_kind, source_label, average, weight, scores }
  })
}

/** The trust-weighted mean of the groups. Null when nothing counts. */
export function fuse(groups: readonly SourceGroup[]): number | null {
  const weights = sum(groups.map(({ weight }) => weight))
  if (weights === 0) return null
  return roundAverage(sum(groups.map(({ weight, average }) => weight * average)) / weights)
}

/** Mean of the compatibility scores; null without any. */
export function compatibilityAverage(scores: readonly JudgedScore[]): number | null {
  const values = scores.flatMap(({ category, value }) =>
    category === 'compatibility' && value !== null ? [value] : [],
  )
  return values.length > 0 ? roundAverage(sum(values) / values.length) : null
}

/**
 * The same scores, each that passes at its full mark: the best that can be said for them. A score
 * passes by its own word, else when it alone would be kept.
 */
export function atBest(scores: readonly JudgedScore[], { keep_at }: PolicySettings): JudgedScore[] {
  const line = Math.max(PASS_AT, keep_at)
  return scores.map((score) => {
    const passes = isCounted(score) && (score.passed ?? score.value >= line)
    return passes ? { ...score, value: 1 } : score
  })
}

/** Whether a score counts in the quality. */
export function isCounted<Score extends JudgedScore>(
  score: Score,
): score is Score & { readonly value: number } {
  return score.category === 'quality' && score.value !== null
}

/** The kind of evidence a score is: see `Trust`. */
export function trustOf({ source, source_kind, source_label }: JudgedScore): Trust {
  if (source_kind !== 'builtin') return source_kind
  return source === 'built_in' && OUTCOME_CHECKS.has(source_label ?? '') ? 'verifier' : 'builtin'
}

function sourceKey(score: JudgedScore) {
  const trust = trustOf(score)
  return `${trust} ${score.source} ${trust === 'verifier' ? '' : (score.source_label ?? '')}`
}

function averageOf(group: readonly CountedScore[]) {
  const votes = Map.groupBy(group, ({ family, name }) =>
    family === null ? `n${name}` : `f${family}`,
  )
  const weighed = [...votes.values()].map((votes) => ({
    value: sum(votes.map(({ value }) => value)) / votes.length,
    weight: isSideIssue(votes[0]) ? SIDE_ISSUE_WEIGHT : 1,
  }))
  const weights = sum(weighed.map(({ weight }) => weight))
  return sum(weighed.map(({ value, weight }) => value * weight)) / weights
}

function isSideIssue(score: JudgedScore | undefined) {
  return score !== undefined && trustOf(score) === 'builtin' && SIDE_ISSUES.has(score.name)
}

/** In ascending order, so that the sum does not depend on the order of arrival. */
function sum(values: readonly number[]) {
  return [...values].sort((a, b) => a - b).reduce((total, value) => total + value, 0)
}

/** Built-in checks of whether the outcome is right. */
const OUTCOME_CHECKS: ReadonlySet<string> = new Set(['json_valid', 'contains', 'regex'])
/** Built-ins that say little about whether the run was good. */
const SIDE_ISSUES: ReadonlySet<string> = new Set(['latency', 'token_efficiency'])
const SIDE_ISSUE_WEIGHT = 0.1
