import { agentsUsed, finalOutput, ownCalls, skillsUsed, toolsUsed } from '../traces/trace-use.ts'
import type { UsedTool, UsingTrace } from '../traces/trace-use.ts'
import type { Contract } from './contract.ts'
import { order } from '../core/order.ts'
import { isSameModel } from './model-name.ts'
import { structuredJson, parseJson } from '../core/parse-json.ts'
import type { Compile, SchemaFault, Validate } from './schema-check.ts'
import type { LlmCall, Span } from '../traces/trace.ts'
import { found } from './violation.ts'
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

const UNDECLARED = { expected: 'declared in the manifest', observed: 'used' }
