import { order } from '../core/order.ts'
import type { PolicySettings } from './decision-policy.ts'
import { trustOf } from './quality.ts'
import type { JudgedScore } from './quality.ts'
import { isPass, PASS_AT } from './score.ts'

/**
 * Trusted scores of which one passes and another fails, or one that says of a trace that would be kept
 * that it failed. Undefined where there is neither.
 */
export function findConflict(
  scores: readonly JudgedScore[],
  policy: PolicySettings,
  { isKept }: { readonly isKept: boolean },
): { readonly subject: string; readonly message: string } | undefined {
  const trusted = scores.filter(
    (score) => score.category === 'quality' && policy.source_weights[trustOf(score)] >= TRUSTED,
  )
  const passing = least(trusted.filter(isPass))
  const failing = least(trusted.filter((score) => isFail(score, policy)))
  if (passing && failing) {
    return { subject: failing.name, message: describeConflict(passing, failing) }
  }
  const told = isKept ? least(trusted.filter(({ passed }) => passed === false)) : undefined
  return told && { subject: told.name, message: `${told.name} says that the trace did not pass` }
}

/** By their names where these tell them apart, else with their sources. */
function describeConflict(passing: JudgedScore, failing: JudgedScore) {
  if (passing.name !== failing.name) return `${passing.name} passes and ${failing.name} fails`
  const [one, other] = [passing, failing].map(({ name, source }) => `${name} (${source})`)
  if (one === other) return `One score of ${one} passes and another fails`
  return `${one} passes and ${other} fails`
}

function isFail({ value, passed }: JudgedScore, { drop_at }: PolicySettings) {
  return passed === null ? value !== null && value < Math.min(drop_at, PASS_AT) : !passed
}

/** The first by name and source, so that the order of arrival does not matter. */
function least(scores: readonly JudgedScore[]) {
  return [...scores].sort((a, b) => order(a.name, b.name) || order(a.source, b.source))[0]
}

/** Evaluators whose kind weighs at least this much. */
const TRUSTED = 0.6
