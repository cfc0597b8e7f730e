import { OUTPUT_CORRECTED, STEPS_MASKED } from '../core/verdicts.ts'
import type { Verdict } from '../core/verdicts.ts'
import type { PolicySettings } from './decision-policy.ts'
import type { Evidence } from './evidence.ts'
import { findConflict } from './score-conflict.ts'

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
  /** It decides only where the next rule that matches comes to a worse verdict. */
  readonly onlyLifts?: boolean
}

/** A change of the evidence, and the condition under which it would be so. */
export interface Change {
  readonly evidence: Evidence
  readonly condition: string
}

/** Code of the rule whose subject is the older trace with the same conversation. */
export const COPY = 'duplicate.exact'

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
    code: COPY,
    // A corrected trace gives another row than what it is a copy of.
    decides: ({ duplicate_of: older, correction }) =>
      older === null || correction !== null
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
    // Calls that no longer exist are not mended by another ending. The outcome and the quality, which
    // are looked at next, are of the output that was replaced.
    code: OUTPUT_CORRECTED,
    decides: ({ correction }) =>
      correction === null
        ? undefined
        : {
            verdict: 'repair',
            subject: correction,
            message: 'A person wrote what the trace should have ended in',
            onlyLifts: true,
          },
    without: (evidence) => ({
      evidence: { ...evidence, correction: null },
      condition: 'nobody had corrected the output',
    }),
  },
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
    code: STEPS_MASKED,
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
  {
    code: 'score.conflict',
    decides: ({ scores, best, policy }) => {
      const isKept = best === null || best >= policy.drop_at
      const conflict = findConflict(scores, policy, { isKept })
      return conflict && doubt(conflict.subject, conflict.message)
    },
  },
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

function drop(subject: string, message: string, code?: string): Finding {
  return { verdict: 'drop', subject, message, ...(code !== undefined && { code }) }
}

function doubt(subject: string, message: string): Finding {
  return { verdict: 'keep', subject, message, isDoubted: true }
}
