import type { Component, ComponentType, Manifest } from './manifest.ts'
import { isObject } from '../core/reader.ts'
import { oneForm } from './manifest-hash.ts'

/** A manifest as the rules read it: every component by what it promises. */
export interface Contract {
  readonly closedWorld: boolean
  readonly tools: ReadonlyMap<string, ToolContract>
  readonly models: readonly ModelContract[]
  readonly prompts: ReadonlyMap<string, PromptContract>
  /** Names of the declared skills. */
  readonly skills: ReadonlySet<string>
  /** By agent name; the manifest hash the agent is pinned to, null for any. */
  readonly subagents: ReadonlyMap<string, string | null>
  readonly output: OutputContract | null
  readonly guardrails: readonly string[]
  /** Null when the manifest says nothing about sources. */
  readonly contextSources: ReadonlySet<string> | null
  readonly policy: BehaviorPolicy
}

/** A JSON Schema. Tenants write them: treat as hostile. */
export type JsonSchema = Record<string, unknown>

export interface ToolContract {
  readonly name: string
  /** Null when only a hash or nothing is known. */
  readonly input: JsonSchema | null
  readonly inputHash: string | null
  readonly output: JsonSchema | null
  readonly outputHash: string | null
}

export interface ModelContract {
  readonly name: string
  /** Lower case; null when not given. */
  readonly provider: string | null
  /** The model's own name, without a provider in front. */
  readonly model: string
}

export interface PromptContract {
  /** Null when only a hash is known. */
  readonly text: string | null
}

export interface OutputContract {
  /** `json` when there is a schema, unless it says otherwise; null when not given. */
  readonly format: string | null
  readonly schema: JsonSchema | null
  readonly schemaHash: string | null
  readonly strict: boolean
}

/** What an agent relies on when it hands work to another one. */
export interface HandoffContract {
  /** The manifest hash, or other reference, that the agent is pinned to; null for any. */
  readonly pin: string | null
  readonly schema: JsonSchema | null
  readonly schemaHash: string | null
}

export interface BehaviorPolicy {
  readonly forbiddenTools: readonly string[]
  readonly requiredTools: readonly string[]
  readonly maxSteps: number | null
  readonly maxToolCalls: number | null
}

export function readContract({ components, is_closed_world }: Manifest): Contract {
  const of = (type: ComponentType) => components.filter((c) => c.component_type === type)
  const named = <T>(type: ComponentType, read: (component: Component) => T) =>
    new Map(of(type).map((c) => [c.component_name, read(c)]))
  const contexts = of('context_config')
  return {
    closedWorld: is_closed_world,
    tools: named('tool', readTool),
    models: of('model').map(readModel),
    prompts: named('prompt', readPrompt),
    skills: new Set(of('skill').map((c) => c.component_name)),
    subagents: named('subagent', readPin),
    output: of('output_contract').map(readOutput)[0] ?? null,
    guardrails: of('guardrail').map((c) => c.component_name),
    contextSources: contexts.length > 0 ? new Set(contexts.flatMap(readSources)) : null,
    policy: readPolicy([...of('behavioral_policy'), ...of('output_contract')]),
  }
}

/** MCP says `inputSchema`, OpenAI `parameters`; a bare schema is the schema of the arguments. */
export function readTool(component: Component): ToolContract {
  const { component_name: name } = component
  const tool = withinFunction(component)
  const input = firstObject(tool, ['input_schema', 'inputSchema', 'parameters'])
  return {
    name,
    input: input ?? (isSchema(tool) ? tool : null),
    inputHash: firstHash(tool, ['input_schema_hash', 'inputSchemaHash', 'parameters_hash']),
    output: firstObject(tool, ['output_schema', 'outputSchema']),
    outputHash: firstHash(tool, ['output_schema_hash', 'outputSchemaHash']),
  }
}

/** What a tool says of itself, in whatever form it came. */
export function toolDescription(component: Component): unknown {
  return withinFunction(component)['description']
}

/** A component may be named after its role or after the model; a provider may stand before a slash. */
export function readModel({ component_name, schema_json }: Component): ModelContract {
  const name = firstText(schema_json, ['model_name', 'model', 'model_id', 'name']) ?? component_name
  const slash = name.lastIndexOf('/')
  const provider = firstText(schema_json, ['provider', 'vendor']) ?? name.slice(0, slash + 1)
  return {
    name: component_name,
    provider: provider.replace(/\/$/, '').toLowerCase() || null,
    model: name.slice(slash + 1),
  }
}

export function readPrompt({ schema_json }: Component): PromptContract {
  return { text: firstText(schema_json, ['content', 'text', 'template', 'prompt', 'body']) }
}

/** A bare schema is the schema of a JSON output. */
export function readOutput({ schema_json: given }: Component): OutputContract {
  const schema =
    firstObject(given, ['schema', 'json_schema', 'output_schema']) ??
    (isSchema(given) ? given : null)
  const format = firstText(given, ['format']) ?? (schema && 'json')
  return {
    format: format && (/json/i.test(format) ? 'json' : format.toLowerCase()),
    // {json_schema: {name, strict, schema}} is how OpenAI wraps it.
    schema: schema && isObject(schema['schema']) ? schema['schema'] : schema,
    schemaHash: firstHash(given, ['schema_hash', 'json_schema_hash', 'output_schema_hash']),
    strict: given['strict'] === true || schema?.['strict'] === true,
  }
}

/** The manifest hash that a sub-agent component pins its agent to. */
export function readPin({ schema_json }: Component): string | null {
  return firstHash(schema_json, ['manifest_hash', 'pinned_hash', 'ref', 'reference'])
}

export function readHandoff(component: Component): HandoffContract {
  const { schema_json: given } = component
  return {
    pin: readPin(component),
    schema: firstObject(given, ['handoff_schema', 'input_schema', 'schema']),
    schemaHash: firstHash(given, ['handoff_schema_hash', 'input_schema_hash', 'schema_hash']),
  }
}

function withinFunction({ schema_json }: Component) {
  const { function: inner } = schema_json
  return isObject(inner) ? inner : schema_json
}

function readSources({ component_name, schema_json }: Component): string[] {
  const { sources } = schema_json
  if (!Array.isArray(sources)) return [component_name]
  return sources.flatMap((source: unknown) => {
    if (typeof source === 'string') return source
    return isObject(source) ? (firstText(source, ['name', 'id']) ?? []) : []
  })
}

/** The first component that says something about a rule decides it. */
export function readPolicy(components: readonly Component[]): BehaviorPolicy {
  const policies = components.map(({ schema_json }) =>
    isObject(schema_json['policy']) ? schema_json['policy'] : schema_json,
  )
  const texts = (key: string) =>
    (policies.map((p) => p[key]).find(Array.isArray) ?? []).filter(isText)
  const count = (key: string) =>
    policies.map((p) => p[key]).find((n): n is number => Number.isInteger(n)) ?? null
  return {
    forbiddenTools: texts('forbidden_tools'),
    requiredTools: texts('required_tools'),
    maxSteps: count('max_steps'),
    maxToolCalls: count('max_tool_calls'),
  }
}

function firstText(given: Record<string, unknown>, keys: readonly string[]): string | null {
  return (
    keys.map((key) => given[key]).find((value): value is string => isText(value) && value !== '') ??
    null
  )
}

/** Hashes are compared in one form, whether they were given with `sha256:` in front or without. */
function firstHash(given: Record<string, unknown>, keys: readonly string[]) {
  const text = firstText(given, keys)
  return text === null ? null : oneForm(text)
}

function firstObject(given: Record<string, unknown>, keys: readonly string[]) {
  return keys.map((key) => given[key]).find(isObject) ?? null
}

function isSchema(given: Record<string, unknown>) {
  return given['type'] === 'object' || isObject(given['properties']) || '$schema' in given
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
