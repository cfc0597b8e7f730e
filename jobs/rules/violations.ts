import { agentsUsed, finalOutput, ownCalls, skillsUsed, toolsUsed } from './trace-use.ts'
import type { UsedTool, UsingTrace } from './trace-use.ts'
import type { Contract } from './contract.ts'
import { order } from './manifest.ts'
import { isSameModel } from './model-name.ts'
import { isObject } from './reader.ts'
import type { Compile, SchemaFault, Validate } from './schema-check.ts'
import type { LlmCall, Span } from './trace.ts'

/** One thing a trace did that its manifest does not allow. */
export interface Violation {
  readonly kind: ViolationKind
  readonly severity: ViolationSeverity
  /** What it is about: a tool, a model, an agent, ... */
  readonly subject: string
  /** Which of the tool calls or spans of the trace; 0 for what is about the whole trace. */
  readonly position: number
  readonly expected: string | null
  /** Never holds a recorded value, which may be secret: paths, words, names and counts only. */
  readonly observed: string | null
  readonly span_id: string | null
}

export type ViolationKind = keyof typeof VIOLATION_SEVERITY
export type ViolationSeverity = 'high' | 'medium' | 'low'

/** What detection needs to know of a manifest, worked out once. */
export interface Detector {
  readonly contract: Contract
  readonly inputs: ReadonlyMap<string, Validate>
  readonly outputs: ReadonlyMap<string, Validate>
  readonly finalOutput: Validate | null
}

/** @param compile makes validators of the manifest's schemas */
export function planDetection(contract: Contract, compile: Compile): Detector {
  const tools = [...contract.tools.values()]
  return {
    contract,
    inputs: new Map(tools.flatMap(({ name, input }) => (input ? [[name, compile(input)]] : []))),
    outputs: new Map(
      tools.flatMap(({ name, output }) => (output ? [[name, compile(output)]] : [])),
    ),
    finalOutput: contract.output?.schema ? compile(contract.output.schema) : null,
  }
}

/**
 * Everything in which a finished trace goes against its manifest, by kind, subject and position. What
 * is not declared counts only where the manifest says that it declares all there is.
 */
export function detectViolations(trace: UsingTrace, detector: Detector): Violation[] {
  if (trace.status === 'running') return []
  const { contract } = detector
  const calls = ownCalls(trace)
  const tools = toolsUsed(trace, calls)
  return [
    ...tools.flatMap((used) => checkTool(used, detector)),
    ...checkOutput(trace, calls, detector),
    ...checkGuardrails(trace.spans, contract),
    ...checkPolicy(trace, calls, tools, contract),
    ...(contract.closedWorld ? checkDeclared(trace, calls, contract) : []),
  ].sort((a, b) => order(a.kind, b.kind) || order(a.subject, b.subject) || a.position - b.position)
}

/** A trace that names a manifest which its agent does not have. */
export function manifestUnknown(named: string): Violation {
  return found('manifest_unknown', named, { expected: 'a manifest registered for the agent' })
}

function checkTool(used: UsedTool, { contract, inputs, outputs }: Detector): Violation[] {
  const { tool, position, span_id } = used
  const at = { position, span_id }
  if (!contract.tools.has(tool)) {
    if (!contract.closedWorld) return []
    return [found('tool_undeclared', tool, { ...at, ...UNDECLARED })]
  }
  const inputFaults = used.args === undefined ? [] : inputs.get(tool)?.(used.args)
  const result = used.failed ? undefined : structured(used.result)
  const outputFaults = result === undefined ? [] : outputs.get(tool)?.(result)
  return [
    ...unfit('tool_args_invalid', tool, inputFaults, { ...at, expected: 'the input schema' }),
    ...unfit('tool_output_invalid', tool, outputFaults, { ...at, expected: 'the output schema' }),
  ]
}

/** A trace that failed or was cut off has no output that could be judged. */
function checkOutput(
  trace: UsingTrace,
  calls: readonly LlmCall[],
  { contract, finalOutput: validate }: Detector,
): Violation[] {
  if (contract.output?.format !== 'json' || trace.status !== 'success') return []
  const output = finalOutput(trace, calls)
  if (!output?.whole) return []
  const value = parseJson(output.text)
  const subject = 'final_output'
  if (value === undefined) {
    const observed = `${output.text.length} characters that are not JSON`
    return [found('output_contract_failed', subject, { expected: 'JSON', observed })]
  }
  const expected = 'the output contract'
  return unfit('output_contract_failed', subject, validate?.(value), { expected })
}

function checkGuardrails(spans: readonly Span[], { guardrails, closedWorld }: Contract) {
  const ran = spans.flatMap((span, position) => {
    const name = guardrails.find(
      (each) => each === span.name || each === span.attributes['guardrail'],
    )
    return span.span_type === 'guardrail' && name !== undefined ? [{ span, position, name }] : []
  })
  const names = new Set(ran.map(({ name }) => name))
  const missing = closedWorld ? guardrails.filter((name) => !names.has(name)) : []
  return [
    ...missing.map((name) =>
      found('guardrail_missing', name, { expected: 'a guardrail span', observed: 'none' }),
    ),
    ...ran.flatMap(({ span, position, name }) => {
      if (span.status !== 'error') return []
      const at = { position, span_id: span.id }
      return found('guardrail_failed', name, { ...at, expected: 'success', observed: 'error' })
    }),
  ]
}

/** A step is an LLM call of the agent itself. */
function checkPolicy(
  trace: UsingTrace,
  calls: readonly LlmCall[],
  tools: readonly UsedTool[],
  { policy }: Contract,
): Violation[] {
  const called = new Set(tools.map(({ tool }) => tool))
  const forbidden = new Set(policy.forbiddenTools)
  const missing = policy.requiredTools.filter((tool) => !called.has(tool))
  return [
    ...tools
      .filter(({ tool }) => forbidden.has(tool))
      .map(({ tool, position, span_id }) =>
        found('tool_forbidden', tool, {
          position,
          span_id,
          expected: 'no call',
          observed: 'a call',
        }),
      ),
    ...(trace.status === 'success' ? missing : []).map((tool) =>
      found('tool_required_missing', tool, { expected: 'a call', observed: 'none' }),
    ),
    ...overLimit('step_limit_exceeded', 'max_steps', policy.maxSteps, calls.length),
    ...overLimit('tool_call_limit_exceeded', 'max_tool_calls', policy.maxToolCalls, tools.length),
  ]
}

function overLimit(kind: ViolationKind, subject: string, limit: number | null, count: number) {
  if (limit === null || count <= limit) return []
  return [found(kind, subject, { expected: `at most ${limit}`, observed: String(count) })]
}

/** What the trace used beyond its tools. A manifest without models says nothing about models. */
function checkDeclared(trace: UsingTrace, calls: readonly LlmCall[], contract: Contract) {
  const agents = [...agentsUsed(trace)].filter((name) => !contract.subagents.has(name))
  const skills = [...skillsUsed(trace)].filter((name) => !contract.skills.has(name))
  const sources = contract.contextSources
  return [
    ...undeclaredModels(calls, contract).map((name) => found('model_undeclared', name, UNDECLARED)),
    ...agents.map((name) => found('subagent_undeclared', name, UNDECLARED)),
    ...skills.map((name) => found('skill_undeclared', name, UNDECLARED)),
    ...(sources ? trace.spans : []).flatMap((span, position) => {
      const source = span.span_type === 'retrieval' ? sourceOf(span) : null
      if (source === null || sources?.has(source)) return []
      return found('context_source_undeclared', source, {
        position,
        span_id: span.id,
        ...UNDECLARED,
      })
    }),
  ]
}

function undeclaredModels(calls: readonly LlmCall[], { models }: Contract): string[] {
  if (models.length === 0) return []
  const used = new Map(
    calls.map(({ provider, model_name }) => [
      `${provider ?? ''}/${model_name ?? ''}`,
      { provider, model_name },
    ]),
  )
  const undeclared = [...used].filter(([, { provider, model_name }]) => {
    if (model_name === null) return false
    return !models.some(
      (model) =>
        isSameModel(model.model, model_name) &&
        (!provider || !model.provider || provider.toLowerCase() === model.provider),
    )
  })
  return undeclared.map(([name]) => name.replace(/^\//, ''))
}

function sourceOf({ attributes, name }: Span): string {
  const told = [attributes['source'], attributes['data_source'], attributes['db.collection.name']]
  return told.find((value): value is string => typeof value === 'string' && value !== '') ?? name
}

function unfit(
  kind: ViolationKind,
  subject: string,
  faults: readonly SchemaFault[] | undefined,
  more: Partial<Violation>,
): Violation[] {
  if (!faults || faults.length === 0) return []
  const told = [...new Set(faults.map((fault) => `${fault.path || '/'} ${wordFor(fault)}`))].sort()
  return [found(kind, subject, { ...more, observed: told.join('; ') })]
}

function wordFor({ kind, keyword }: SchemaFault) {
  return kind === 'value' ? `value (${keyword})` : kind
}

function found(kind: ViolationKind, subject: string, more: Partial<Violation>): Violation {
  return {
    kind,
    severity: VIOLATION_SEVERITY[kind],
    subject: subject.slice(0, MAX_TEXT),
    position: 0,
    span_id: null,
    ...more,
    expected: more.expected ?? null,
    observed: more.observed?.slice(0, MAX_TEXT) ?? null,
  }
}

/** A result as a value with parts; undefined for a plain text, which no schema of parts is about. */
function structured(result: unknown): unknown {
  if (typeof result === 'string') return parseJson(result)
  return isObject(result) || Array.isArray(result) ? result : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export const VIOLATION_SEVERITY = {
  tool_undeclared: 'high',
  tool_args_invalid: 'medium',
  tool_output_invalid: 'medium',
  model_undeclared: 'high',
  output_contract_failed: 'high',
  subagent_undeclared: 'medium',
  skill_undeclared: 'medium',
  context_source_undeclared: 'medium',
  guardrail_missing: 'high',
  guardrail_failed: 'high',
  tool_forbidden: 'high',
  tool_required_missing: 'high',
  step_limit_exceeded: 'medium',
  tool_call_limit_exceeded: 'medium',
  manifest_unknown: 'low',
} as const satisfies Record<string, ViolationSeverity>

const UNDECLARED = { expected: 'declared in the manifest', observed: 'used' }
const MAX_TEXT = 500
