import { agentsUsed, finalOutput, ownCalls, skillsUsed, toolsUsed } from '../traces/trace-use.ts'
import type { UsedTool, UsingTrace } from '../traces/trace-use.ts'
import type { Contract } from './contract.ts'
import { order } from '../core/order.ts'
import { isSameModel } from './model-name.ts'
import { structuredJson, parseJson } from '../core/parse-json.ts'
import type { Compile, SchemaFault, Validate } from './schema-check.ts'
import type { LlmCall, Span } from '../traces/trace.ts'
import { found, tellingMore } from './violation.ts'
import type { Violation, ViolationKind } from './violation.ts'

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
 * In what a finished trace goes against its manifest, by kind, subject and position: at most `MAX_ALIKE` of
 * a kind and subject, and `MAX_OF_TRACE` in all. What is not declared counts only where the manifest says
 * that it declares all there is.
 */
export function detectViolations(trace: UsingTrace, detector: Detector): Violation[] {
  if (trace.status === 'running') return []
  return theFirst(violationsOf(trace, detector)).sort(
    (a, b) => order(a.kind, b.kind) || order(a.subject, b.subject) || a.position - b.position,
  )
}

/** What a trace has many of comes last, and each kind and subject by position. */
function* violationsOf(trace: UsingTrace, detector: Detector) {
  const { contract } = detector
  const calls = ownCalls(trace)
  const tools = toolsUsed(trace, calls)
  yield* checkOutput(trace, calls, detector)
  yield* checkPolicy(trace, calls, tools, contract)
  yield* checkGuardrails(trace.spans, contract)
  if (contract.closedWorld) yield* checkDeclared(trace, calls, contract)
  for (const used of tools) yield* checkTool(used, detector)
}

/** The last of a kind and subject, or of all, tells how many there are that are left out. */
function theFirst(violations: Iterable<Violation>): Violation[] {
  const kept: { violation: Violation; more: number }[] = []
  const groups = new Map<string, typeof kept>()
  for (const violation of violations) {
    const key = `${violation.kind} ${violation.subject}`
    const alike = groups.get(key) ?? []
    if (alike.length === MAX_ALIKE || kept.length === MAX_OF_TRACE) {
      const last = alike.at(-1) ?? kept.at(-1)
      if (last) last.more++
      continue
    }
    const one = { violation, more: 0 }
    kept.push(one)
    alike.push(one)
    groups.set(key, alike)
  }
  return kept.map(({ violation, more }) => (more > 0 ? tellingMore(violation, more) : violation))
}

function checkTool(used: UsedTool, { contract, inputs, outputs }: Detector): Violation[] {
  const { tool, position, span_id } = used
  const at = { position, span_id }
  if (!contract.tools.has(tool)) {
    if (!contract.closedWorld) return []
    return [found('tool_undeclared', tool, { ...at, ...UNDECLARED })]
  }
  const inputFaults = used.args === undefined ? [] : inputs.get(tool)?.(used.args)
  const result = used.failed ? undefined : structuredJson(used.result)
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
function* checkPolicy(
  trace: UsingTrace,
  calls: readonly LlmCall[],
  tools: readonly UsedTool[],
  { policy }: Contract,
) {
  const called = new Set(tools.map(({ tool }) => tool))
  const forbidden = new Set(policy.forbiddenTools)
  const missing = policy.requiredTools.filter((tool) => !called.has(tool))
  yield* overLimit('step_limit_exceeded', 'max_steps', policy.maxSteps, calls.length)
  yield* overLimit('tool_call_limit_exceeded', 'max_tool_calls', policy.maxToolCalls, tools.length)
  for (const tool of trace.status === 'success' ? missing : []) {
    yield found('tool_required_missing', tool, { expected: 'a call', observed: 'none' })
  }
  for (const { tool, position, span_id } of tools) {
    if (!forbidden.has(tool)) continue
    const at = { position, span_id }
    yield found('tool_forbidden', tool, { ...at, expected: 'no call', observed: 'a call' })
  }
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
  const named = [attributes['source'], attributes['data_source'], attributes['db.collection.name']]
  return named.find((value): value is string => typeof value === 'string' && value !== '') ?? name
}

function unfit(
  kind: ViolationKind,
  subject: string,
  faults: readonly SchemaFault[] | undefined,
  more: Partial<Violation>,
): Violation[] {
  if (!faults || faults.length === 0) return []
  const texts = [...new Set(faults.map((fault) => `${fault.path || '/'} ${wordFor(fault)}`))].sort()
  return [found(kind, subject, { ...more, observed: texts.join('; ') })]
}

function wordFor({ kind, keyword }: SchemaFault) {
  return kind === 'value' ? `value (${keyword})` : kind
}

/** Of a kind and subject. */
export const MAX_ALIKE = 50
/** What is found in a page of 500 traces is in memory at once: 100,000 take some 400 MB until they are stored. */
export const MAX_OF_TRACE = 200
const UNDECLARED = { expected: 'declared in the manifest', observed: 'used' }
