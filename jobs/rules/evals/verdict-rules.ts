import { order } from '../core/order.ts'
import type { Verdict } from '../core/verdicts.ts'
import type { PolicySettings } from './decision-policy.ts'
import type { Evidence } from './evidence.ts'
import { trustOf } from './quality.ts'
import type { JudgedScore } from './quality.ts'
import { isPass, PASS_AT } from './score.ts'

/** One way to decide on a trace. Its number on the wire is its index in `RULES`, counted from 1. */
export interface Rule {
  /** Code of its reasons; one that ends in `*` is the family of the codes that its findings bring. */
  readonly code: string
  /** What it finds in the facts; undefined when it does not match. */
  readonly decides: (facts: Facts) => Finding | undefined
  /** The evidence without what it found. Rules on scores have none: there a score has to move. */
  readonly without?: (evidence: Evidence) => Change
}

/** The evidence with what follows from its scores under a policy. */
export interface Facts extends Evidence {
  readonly policy: PolicySettings
  readonly quality: number | null
  /** The quality, by the best that can be said for the scores where it is below `drop_at`. */
  readonly best: number | null
  readonly onlyBuiltIns: boolean
}

/** What a rule found, and what follows from it when the rule decides. */
export interface Finding {
  readonly verdict: Verdict
  readonly subject: string
  readonly message: string
  /** Where it differs from the rule's. */
  readonly code?: string
  /** Kept for a review, or replayed, as the policy has it. */
  readonly isDoubted?: boolean
}

/** A change of the evidence, and the condition under which it would be so. */
export interface Change {
  readonly evidence: Evidence
  readonly condition: string
}

/** Rules on the trace itself. Without an analysis of its compatibility two of them never match. */
const RULES_ON_TRACE: readonly Rule[] = [
  {
    code: 'malformed.*',
    decides: ({ malformed }) =>
      malformed === null
        ? undefined
        : drop('content', 'The conversation is not well formed', malformed),
    without: (evidence) => ({
      evidence: { ...evidence, malformed: null },
      condition: 'the conversation were well formed',
    }),
  },
  {
    code: 'policy.*',
    decides: ({ forbidden }) =>
      forbidden === null
        ? undefined
        : drop('metadata', 'The trace is marked as not to be trained on', forbidden),
    without: (evidence) => ({
      evidence: { ...evidence, forbidden: null },
      condition: 'training on it were allowed',
    }),
  },
  {
    code: 'duplicate.exact',
    decides: ({ duplicate_of: older }) =>
      older === null
        ? undefined
        : drop(older, `The older trace ${older} has the same conversation`),
    without: (evidence) => ({
      evidence: { ...evidence, duplicate_of: null },
      condition: `it were not a copy of ${evidence.duplicate_of}`,
    }),
  },
  compatibilityRule('drop'),
  compatibilityRule('replay'),
  {
    code: 'contract.outcome',
    decides: ({ contract }) =>
      contract === null
        ? undefined
        : {
            verdict: contract.rerunnable ? 'replay' : 'drop',
            subject: contract.subject,
            message: 'The outcome breaks the output contract',
          },
    without: (evidence) => ({
      evidence: { ...evidence, contract: null },
      condition: 'the output kept its contract',
    }),
  },
]

/** Rules that look at scores, or come behind one that does: in doubt where only built-ins speak. */
const RULES_ON_SCORES: readonly Rule[] = [
  {
    code: 'score.bad',
    // By the best that can be said for the scores: where passing scores below their full mark are
    // all that pulls the quality under the line, one more pass must not be what drops the trace.
    decides: ({ quality, best, policy }) =>
      quality === null || best === null || best >= policy.drop_at
        ? undefined
        : drop('quality', `Quality ${quality} is below ${policy.drop_at}`),
  },
  compatibilityRule('repair'),
  {
    code: 'step.masked',
    decides: ({ tool_error_count: errors, quality, policy }) =>
      errors === 0 || quality === null || quality < policy.keep_at
        ? undefined
        : {
            verdict: 'repair',
            subject: 'tool_calls',
            message: `${errors === 1 ? '1 tool call' : `${errors} tool calls`} failed in a good run`,
          },
    without: (evidence) => ({
      evidence: { ...evidence, tool_error_count: 0 },
      condition: 'no tool call had failed',
    }),
  },
  { code: 'score.conflict', decides: findConflict },
  {
    code: 'score.good',
    decides: ({ quality, policy }) =>
      quality === null || quality < policy.keep_at
        ? undefined
        : {
            verdict: 'keep',
            subject: 'quality',
            message: `Quality ${quality} is at least ${policy.keep_at}`,
          },
  },
  {
    code: 'score.middling',
    decides: ({ quality, best, policy }) =>
      quality === null || best === null || quality >= policy.keep_at || best < policy.drop_at
        ? undefined
        : doubt('quality', describeMiddling(quality, policy)),
  },
  {
    code: 'score.builtin_only',
    decides: ({ onlyBuiltIns, quality }) => {
      if (quality === null) return { ...doubt('quality', 'No score tells'), code: 'score.none' }
      return onlyBuiltIns ? doubt('quality', 'Only built-in scores tell') : undefined
    },
  },
]

/** In order: the first that matches sets the verdict. */
export const RULES: readonly Rule[] = [...RULES_ON_TRACE, ...RULES_ON_SCORES]

export function isOnScores(rule: Rule) {
  return RULES_ON_SCORES.includes(rule)
}

function compatibilityRule(verdict: Verdict): Rule {
  return {
    code: 'compat.*',
    decides: ({ compatibility: found }) =>
      found?.verdict === verdict
        ? { verdict, code: found.code, subject: found.subject, message: found.message }
        : undefined,
    without: (evidence) => ({
      evidence: { ...evidence, compatibility: null },
      condition: 'it fitted the target manifest',
    }),
  }
}

function describeMiddling(quality: number, { keep_at, drop_at }: PolicySettings) {
  return quality < drop_at
    ? `Quality ${quality} is below ${drop_at} only because scores that pass are below their full mark`
    : `Quality ${quality} is below ${keep_at}, yet not bad enough to drop`
}

/** What speaks against another one, or says of a trace that would be kept that it failed. */
function findConflict({ scores, best, policy }: Facts): Finding | undefined {
  const trusted = scores.filter(
    (score) => score.category === 'quality' && policy.source_weights[trustOf(score)] >= TRUSTED,
  )
  const passing = least(trusted.filter(isPass))
  const failing = least(trusted.filter((score) => isFail(score, policy)))
  if (passing && failing) return doubt(failing.name, describeConflict(passing, failing))
  const wouldBeKept = best === null || best >= policy.drop_at
  const told = least(trusted.filter(({ passed }) => passed === false))
  if (!told || !wouldBeKept) return undefined
  return doubt(told.name, `${told.name} says that the trace did not pass`)
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

function drop(subject: string, message: string, code?: string): Finding {
  return { verdict: 'drop', subject, message, ...(code !== undefined && { code }) }
}

function doubt(subject: string, message: string): Finding {
  return { verdict: 'keep', subject, message, isDoubted: true }
}

/** Evaluators whose kind weighs at least this much. */
const TRUSTED = 0.6
