import type { Surface } from './compat-decision.ts'
import { DEFAULT_COMPAT_POLICY } from './compat-policy.ts'
import type { CompatPolicy } from './compat-policy.ts'
import { readContract } from './contract.ts'
import type { Contract, JsonSchema, ModelContract, OutputContract } from './contract.ts'
import { diffManifests } from './manifest-diff.ts'
import type { Manifest } from './manifest.ts'
import type { Compile, Validate } from './schema-check.ts'
import type { ChangeDetail, Severity, SurfaceChange } from './surface-change.ts'
import { parameterRules } from './tool-repair.ts'
import type { ArgumentRule, RenameRule } from './tool-repair.ts'

/** Everything about two manifests that the decision on a trace needs, worked out once. */
export interface Transition {
  readonly policy: CompatPolicy
  readonly changes: readonly SurfaceChange[]
  /** Tools whose calls have to be looked at. */
  readonly tools: ReadonlyMap<string, ToolPlan>
  /** Tools that either manifest declares. */
  readonly declared: ReadonlySet<string>
  readonly output: OutputPlan | null
  readonly models: readonly {
    name: string
    severity: Severity
    contract: ModelContract | undefined
  }[]
  readonly oldModels: readonly ModelContract[]
  readonly prompts: readonly { name: string; severity: Severity }[]
  readonly skills: ReadonlyMap<string, 'skill_missing' | 'skill_content_changed'>
  readonly subagents: ReadonlySet<string>
  /** What every trace ran under, because no trace records that it used it. */
  readonly ambient: readonly Surface[]
}

/** @param compile makes validators of the new manifest's schemas */
export function planTransition(
  before: Manifest,
  after: Manifest,
  compile: Compile,
  policy: CompatPolicy = DEFAULT_COMPAT_POLICY,
): Transition {
  const changes = diffManifests(before, after)
  const effective = changes.filter(({ state }) => state !== 'doc_only' && state !== 'added')
  const of = (type: SurfaceChange['component_type'], from = effective) =>
    from.filter(({ component_type }) => component_type === type)
  const [old, now] = [readContract(before), readContract(after)]
  return {
    policy,
    changes,
    tools: new Map(
      of('tool').map((change) => [change.component_name, planTool(change, old, now, compile)]),
    ),
    declared: new Set([...old.tools.keys(), ...now.tools.keys()]),
    output: planOutput(of('output_contract', changes), old.output, now.output, compile),
    models: of('model').map(({ component_name: name, severity }) => ({
      name,
      severity,
      contract: old.models.find((model) => model.name === name),
    })),
    oldModels: old.models,
    prompts: of('prompt', changes)
      .filter(({ state }) => state !== 'doc_only')
      .map(({ component_name: name, severity }) => ({ name, severity })),
    skills: new Map(
      of('skill').map(({ component_name, state }) => [
        component_name,
        state === 'removed' ? 'skill_missing' : 'skill_content_changed',
      ]),
    ),
    subagents: new Set(of('subagent').map(({ component_name }) => component_name)),
    ambient: changes
      .filter(isAmbient)
      .map(({ component_type, component_name }) => [component_type, component_name]),
  }
}

/**
 * The tools that say nothing about a trace that called no others: such a trace is decided without its
 * content. Null when more than the calls of tools has to be looked at.
 */
export function silentTools(plan: Transition): string[] | null {
  const { declared, tools, output, models, prompts, subagents } = plan
  if (output || models.length > 0 || prompts.length > 0 || subagents.size > 0) return null
  return [...declared].filter((name) => !tools.has(name))
}

/**
 * An output contract that went is one of them, as is one with another policy: no output can be held
 * against these.
 */
function isAmbient({ component_type, state, details }: SurfaceChange) {
  if (component_type === 'output_contract') return state === 'removed' || details.some(isPolicy)
  return state !== 'doc_only' && AMBIENT.has(component_type)
}

function planTool(change: SurfaceChange, old: Contract, now: Contract, compile: Compile): ToolPlan {
  const name = change.new_name ?? change.component_name
  const [before, after] = [old.tools.get(change.component_name), now.tools.get(name)]
  if (change.state === 'removed' || !before || !after) return { kind: 'missing' }
  const validate = after.input ? compile(after.input) : undefined
  if (change.state === 'renamed') {
    const rule: RenameRule = { tool: change.component_name, rule: 'rename_tool', to: name }
    return { kind: 'renamed', rule, validate }
  }
  const inputs = change.details.filter(({ role }) => role === 'arguments')
  const onlyOutput = inputs.length === 0 && change.details.some(({ role }) => role === 'output')
  if (onlyOutput) return { kind: 'output_changed' }
  if (!validate) return { kind: 'unverifiable' }
  return { kind: 'changed', validate, rules: rulesBetween(name, before.input, after.input) }
}

function planOutput(
  changes: readonly SurfaceChange[],
  old: OutputContract | null,
  now: OutputContract | null,
  compile: Compile,
): OutputPlan | null {
  const [change] = changes.filter(({ state }) => state === 'changed' || state === 'added')
  if (!change || !now) return null
  if (change.details.length > 0 && change.details.every(isPolicy)) return null
  const rules = rulesBetween(null, old?.schema, now.schema)
  return {
    name: change.component_name,
    isJson: now.format === 'json',
    validate: now.schema ? compile(now.schema) : undefined,
    fitted: now.schema && old?.schema ? compile(old.schema) : undefined,
    isGiven: now.format !== null && (now.schema !== null || now.schemaHash === null),
    rules: rules.filter(({ rule }) => rule === 'rename_param' || rule === 'add_default'),
  }
}

function rulesBetween(tool: string | null, before: Schema, after: Schema): ArgumentRule[] {
  if (!before || !after) return []
  return parameterRules(before, after).map((rule) => ({ tool, ...rule }))
}

function isPolicy({ change }: ChangeDetail) {
  return change === 'policy'
}

export type ToolPlan =
  { readonly kind: 'output_changed' | 'missing' | 'unverifiable' } | CheckedPlan

/** Of a tool whose calls can be held against what it has become. */
export type CheckedPlan =
  | { readonly kind: 'renamed'; readonly rule: RenameRule; readonly validate: Validate | undefined }
  | {
      readonly kind: 'changed'
      readonly validate: Validate
      readonly rules: readonly ArgumentRule[]
    }

export interface OutputPlan {
  readonly name: string
  readonly isJson: boolean
  readonly validate: Validate | undefined
  /** Of the old contract. */
  readonly fitted: Validate | undefined
  /** False when only a hash of the contract is known. */
  readonly isGiven: boolean
  readonly rules: readonly ArgumentRule[]
}

type Schema = JsonSchema | null | undefined

const AMBIENT: ReadonlySet<string> = new Set([
  'workflow',
  'guardrail',
  'context_config',
  'behavioral_policy',
  'environment',
])
