import { fitArguments } from './argument-fit.ts'
import { parseJson } from '../core/parse-json.ts'
import { Findings } from './compat-decision.ts'
import type { CompatDecision, Surface } from './compat-decision.ts'
import type { CheckedPlan, Transition } from './compat-plan.ts'
import type { CompatPolicy } from './compat-policy.ts'
import type { ModelContract } from './contract.ts'
import { isSameModel } from './model-name.ts'
import { describeFaults } from './schema-check.ts'
import type { SchemaFault } from './schema-check.ts'
import type { LlmCall } from '../traces/trace.ts'
import { repairValue } from './tool-repair.ts'
import { agentsUsed, finalOutput, ownCalls, skillsUsed, toolsUsed } from '../traces/trace-use.ts'
import type { UsedTool, UsingTrace } from '../traces/trace-use.ts'

/**
 * Decides on one trace of the old manifest. Only surfaces that the trace used count, and recorded
 * calls are validated, so the decision does not rest on what might have been called.
 */
export function classify(trace: UsingTrace, transition: Transition): CompatDecision {
  const found = new Findings()
  const calls = ownCalls(trace)
  for (const used of toolsUsed(trace, calls)) classifyCall(used, transition, found)
  classifyOutput(trace, calls, transition, found)
  if (calls.length > 0) {
    classifyModels(calls, transition, found)
    classifyPrompts(transition, found)
  }
  classifySkills(trace, transition, found)
  classifyAgents(trace, transition, found)
  for (const surface of transition.ambient) found.add('keep', 'component_changed', surface)
  return found.decide(trace)
}

function classifyCall(used: UsedTool, { tools, declared, policy }: Transition, found: Findings) {
  const surface: Surface = ['tool', used.tool]
  const plan = tools.get(used.tool)
  if (!plan) {
    if (declared.has(used.tool)) return
    return found.add(policy.tool_undeclared, 'tool_not_in_manifests', surface)
  }
  switch (plan.kind) {
    case 'output_changed':
      return found.add('keep', 'component_changed', surface)
    case 'missing':
      return found.add(policy.tool_missing, 'tool_missing', surface)
    case 'unverifiable':
      return found.add(policy.tool_schema_unverifiable, 'tool_schema_unverifiable', surface)
    case 'renamed':
    case 'changed':
      return classifyArguments(used, plan, policy, found)
  }
}

function classifyArguments(
  { tool, args }: UsedTool,
  plan: CheckedPlan,
  policy: CompatPolicy,
  found: Findings,
) {
  const surface: Surface = ['tool', tool]
  if (args === undefined) return found.add('flag', 'missing_artifacts', surface, 'arguments')
  const fit = fitArguments(args, plan)
  switch (fit.kind) {
    case 'unverifiable':
      return found.add(policy.tool_schema_unverifiable, 'tool_schema_unverifiable', surface)
    case 'fitting':
      return found.add('keep', 'tool_schema_changed_args_still_valid', surface)
    case 'unfit': {
      const detail = describeFaults(fit.faults)
      return found.add(policy.tool_schema_incompatible, 'tool_schema_incompatible', surface, detail)
    }
    case 'renamed':
      found.add('repair', 'tool_renamed', surface, fit.rule.to)
      return found.repair(fit.rule)
    case 'repaired':
      found.add('repair', 'tool_schema_changed_repairable', surface)
      for (const rule of fit.used) found.repair(rule)
  }
}

/** A trace that failed has no output that could be judged. */
function classifyOutput(
  trace: UsingTrace,
  calls: readonly LlmCall[],
  { output: plan, policy }: Transition,
  found: Findings,
) {
  if (!plan || trace.status === 'error') return
  const surface: Surface = ['output_contract', plan.name]
  const still = 'output_contract_changed_output_still_valid'
  const unsure = (why: string) => found.add('flag', 'insufficient_confidence', surface, why)
  const output = finalOutput(trace, calls)
  if (!output) return found.add('flag', 'missing_artifacts', surface, 'final output')
  if (!plan.isGiven) return unsure('only a hash is told')
  if (!plan.isJson) return found.add('keep', still, surface)
  if (!output.whole) return unsure('output is cut')
  const value = parseJson(output.text)
  const faults = value === undefined ? NOT_JSON : plan.validate ? plan.validate(value) : []
  if (!faults) return unsure('not verifiable')
  if (faults.length === 0) return found.add('keep', still, surface)
  const repaired = plan.validate && repairValue(value, plan.rules, plan.validate)
  if (!repaired) {
    const detail = faults === NOT_JSON ? 'not JSON' : describeFaults(faults)
    return found.add(policy.output_contract_changed, 'output_contract_changed', surface, detail)
  }
  found.add('repair', 'output_contract_changed_repairable', surface)
  for (const rule of repaired.used) found.repair(rule)
}

/** A call whose model is not named, or not declared, may have been of any of them. */
function classifyModels(
  calls: readonly LlmCall[],
  { models, oldModels, policy }: Transition,
  found: Findings,
) {
  if (models.length === 0) return
  const names = new Set(calls.map(({ model_name }) => model_name))
  const isOf = (name: string | null, model: ModelContract | undefined) =>
    name !== null && model !== undefined && isSameModel(name, model.model)
  const unattributed = [...names].some((name) => !oldModels.some((model) => isOf(name, model)))
  for (const { name, severity, contract } of models) {
    if (!unattributed && ![...names].some((used) => isOf(used, contract))) continue
    found.add(policy.model[severity], 'model_runtime_changed', ['model', name], severity)
  }
}

/** Which of the prompts an LLM call was made with is not recorded: each counts. */
function classifyPrompts({ prompts, policy }: Transition, found: Findings) {
  for (const { name, severity } of prompts) {
    found.add(policy.prompt[severity], 'prompt_policy_changed', ['prompt', name], severity)
  }
}

function classifySkills(trace: UsingTrace, { skills, policy }: Transition, found: Findings) {
  if (skills.size === 0) return
  for (const skill of skillsUsed(trace)) {
    const code = skills.get(skill)
    if (code) found.add(policy[code], code, ['skill', skill])
  }
}

function classifyAgents(trace: UsingTrace, { subagents, policy }: Transition, found: Findings) {
  if (subagents.size === 0) return
  const code = 'subagent_interface_changed'
  for (const agent of agentsUsed(trace)) {
    if (subagents.has(agent)) found.add(policy[code], code, ['subagent', agent])
  }
}

const NOT_JSON: readonly SchemaFault[] = [{ path: '', kind: 'value', keyword: 'json' }]
