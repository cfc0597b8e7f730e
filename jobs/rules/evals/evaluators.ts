import { parseJson } from '../core/parse-json.ts'
import { compilePattern } from '../core/pattern.ts'
import type { Pattern } from '../core/pattern.ts'
import type { TraceFacts } from '../traces/trace-facts.ts'
import type { Trace } from '../traces/trace.ts'
import { PLAIN_SCORE } from './score.ts'
import type { NewScore } from './score.ts'

/** What evaluators look at; all of it columns of a stored trace. */
export type Evaluated = Pick<Trace, 'status'> &
  Pick<
    TraceFacts,
    | 'tool_call_count'
    | 'tool_error_count'
    | 'llm_call_count'
    | 'output_tokens'
    | 'cost_usd'
    | 'llm_latency_ms'
  > & { has_output: boolean }

/** A check that a project added to the evaluators that are always on. */
export type Check = CheckConfig & {
  readonly name: string
  /** The agent it is for; '' for all of the project. */
  readonly agent_name: string
}

/** Who gives the scores: a rule, a model, or nobody said. Models are the client's; we call none. */
export type EvalType = (typeof EVAL_TYPES)[number]
export type CheckType = (typeof CHECK_TYPES)[number]

/** What a type of check has to be given. */
export type CheckConfig =
  | { readonly type: 'json_valid'; readonly config: Readonly<Record<string, never>> }
  | { readonly type: 'contains'; readonly config: TextConfig }
  | { readonly type: 'regex'; readonly config: { readonly pattern: string } }
  | { readonly type: 'max_cost'; readonly config: { readonly usd: number } }
  | { readonly type: 'max_steps'; readonly config: { readonly steps: number } }

interface TextConfig {
  readonly text: string
  readonly case_sensitive: boolean
}

/**
 * The five scores every trace gets. One that has nothing to measure (no tool call, no known latency)
 * has no value but the label `not_applicable`, and counts nowhere.
 */
export function evaluate(trace: Evaluated): NewScore[] {
  const { tool_call_count: calls, tool_error_count: errors, llm_call_count: llmCalls } = trace
  const perCall = (total: number | null) => (llmCalls > 0 && total ? total / llmCalls : null)
  return [
    builtIn('completion', { success: 1, partial: 0.5, error: 0, running: null }[trace.status]),
    builtIn('has_output', Number(trace.has_output)),
    builtIn('tool_compliance', calls > 0 ? (calls - errors) / calls : null),
    builtIn('latency', falling(perCall(trace.llm_latency_ms), ZERO_AT_MS_A_CALL)),
    builtIn('token_efficiency', falling(perCall(trace.output_tokens), ZERO_AT_TOKENS_A_CALL)),
  ]
}

/** @param output all of the final output, for those that `readsOutput` */
export function runCheck(check: Check, trace: Evaluated, output: string): NewScore {
  return { ...builtIn(check.name, passes(check, trace, output)), source_label: check.type }
}

/** Whether a check looks at the final output, which is kept with the content. */
export function readsOutput({ type }: Check) {
  return type === 'json_valid' || type === 'contains' || type === 'regex'
}

function passes(check: Check, trace: Evaluated, output: string) {
  switch (check.type) {
    case 'json_valid':
      return parseJson(output) !== undefined
    case 'contains': {
      const { text, case_sensitive } = check.config
      if (case_sensitive) return output.includes(text)
      return output.toLowerCase().includes(text.toLowerCase())
    }
    case 'regex':
      return patternOf(check.config).test(output)
    case 'max_cost':
      return trace.cost_usd === null ? null : trace.cost_usd <= check.config.usd
    case 'max_steps':
      return trace.llm_call_count <= check.config.steps
  }
}

/** Compiled once for all traces of a batch. */
function patternOf(config: { readonly pattern: string }): Pattern {
  const known = PATTERNS.get(config)
  if (known) return known
  const pattern = compilePattern(config.pattern)
  PATTERNS.set(config, pattern)
  return pattern
}

/** 1 at nothing, 0 from `zeroAt` on, linear between. */
function falling(amount: number | null, zeroAt: number) {
  return amount === null ? null : Math.min(1, Math.max(0, 1 - amount / zeroAt))
}

function builtIn(name: string, result: number | boolean | null): NewScore {
  return {
    ...PLAIN_SCORE,
    name,
    source: 'built_in',
    source_kind: 'builtin',
    value: result === null ? null : Number(result),
    data_type:
      result === null ? 'categorical' : typeof result === 'boolean' ? 'boolean' : 'numeric',
    label: result === null ? 'not_applicable' : null,
    passed: typeof result === 'boolean' ? result : null,
    category: 'quality',
    evaluator_version: VERSION,
    metadata: {},
  }
}

/** The evaluators that are always on. */
export const BUILT_INS = [
  {
    name: 'completion',
    description: '1 for a run that succeeded, 0.5 for a partial one, 0 for one that failed',
  },
  { name: 'has_output', description: '1 when the run ended with an output' },
  { name: 'tool_compliance', description: 'Share of the tool calls that succeeded' },
  { name: 'latency', description: '1 falling to 0 at 10 s an LLM call' },
  { name: 'token_efficiency', description: '1 falling to 0 at 5,000 output tokens an LLM call' },
] as const
export const EVAL_TYPES = ['deterministic', 'llm_judge', 'custom'] as const
export const CHECK_TYPES = ['json_valid', 'contains', 'regex', 'max_cost', 'max_steps'] as const

const PATTERNS = new WeakMap<{ readonly pattern: string }, Pattern>()
const VERSION = '1'
const ZERO_AT_MS_A_CALL = 10_000
const ZERO_AT_TOKENS_A_CALL = 5000
