import { readModel, readOutput, readPin, readPrompt, readTool } from './contract.ts'
import { contentHash } from './manifest-hash.ts'
import type { Component, ComponentType } from './manifest.ts'
import { modelFamily } from './model-name.ts'
import { compareSchemas, relationOf, saysTheSame } from './schema-change.ts'
import { similarity } from './text-similarity.ts'
import { compareTools, sameContent } from './tool-change.ts'
import type { SideChange, ToolChange } from './tool-change.ts'

/** One component that is different in the new manifest. */
export interface SurfaceChange {
  /** `<component_type>:<component_name>`, by the name in the old manifest where it has one. */
  readonly surface: string
  readonly component_type: ComponentType
  readonly component_name: string
  /** The new name of a renamed tool or of a model that took another's place. */
  readonly new_name: string | null
  /** `doc_only` changes cannot affect a recorded trace. */
  readonly state: 'doc_only' | 'changed' | 'added' | 'removed' | 'renamed'
  readonly change_type: ChangeType
  readonly severity: Severity
  /** What worked with the old one may not with the new one; true where only hashes are told. */
  readonly breaking: boolean
  readonly details: readonly ChangeDetail[]
}

export type Severity = 'minor' | 'moderate' | 'major'
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** `change` is a word for programs; the other members say where and from what to what. */
export interface ChangeDetail {
  readonly change: string
  readonly role?: 'arguments' | 'output'
  readonly path?: string
  readonly relation?: string
  /** The parameter is required, before or after. */
  readonly required?: true
  readonly from?: string | number | boolean | null
  readonly to?: string | number | boolean | null
}

/** What became of a component; undefined when nothing is different. */
export function compareComponents(before: Component, after: Component): SurfaceChange | undefined {
  const type = before.component_type
  if (type === 'tool') {
    const change = compareTools(before, after)
    return change && describeToolChange(before, change, requiredOf(before, after))
  }
  if (type === 'model') return compareModels(before, after)
  if (sameContent(before, after)) {
    const sameVersion = before.component_version === after.component_version
    return sameVersion ? undefined : describe(before, DOC_ONLY)
  }
  if (type === 'prompt') return describePromptChange(before, after)
  if (type === 'output_contract') return describeOutputChange(before, after)
  if (type !== 'subagent') return describe(before, wordsFor(type, 'changed'))
  const details = [{ change: 'pin', from: readPin(before), to: readPin(after) }]
  return describe(before, { ...wordsFor(type, 'changed'), details })
}

export function describeRename(before: Component, after: Component): SurfaceChange {
  return describe(before, {
    state: 'renamed',
    change_type: 'tool_renamed',
    severity: 'moderate',
    breaking: true,
    new_name: after.component_name,
  })
}

export function describeRemoval(component: Component): SurfaceChange {
  return describe(component, wordsFor(component.component_type, 'removed'))
}

export function describeAddition(component: Component): SurfaceChange {
  return describe(component, wordsFor(component.component_type, 'added'))
}

/** Whether two models are of one provider, as far as both tell theirs, and of one family. */
export function isOneFamily(a: Component, b: Component) {
  const [old, now] = [readModel(a), readModel(b)]
  const told = old.provider !== null && now.provider !== null
  if (told && old.provider !== now.provider) return false
  return modelFamily(old.model) === modelFamily(now.model)
}

export function keyOf({ component_type, component_name }: Component) {
  return `${component_type}:${component_name}`
}

function describeToolChange(
  tool: Component,
  change: ToolChange,
  required: ReadonlySet<unknown>,
): SurfaceChange {
  const sides = [change.arguments, change.output]
  if (sides.every(({ kind }) => kind === 'same')) return describe(tool, DOC_ONLY)
  const harmless = sides.every(({ relation: r }) => r === 'equal' || r === 'compatible')
  return describe(tool, {
    state: 'changed',
    change_type: toolChangeType(change.arguments),
    severity: harmless ? 'minor' : 'moderate',
    breaking: sides.some(({ kind, relation }) => kind === 'unknown' || relation === 'breaking'),
    details: [
      ...detailsOf(change.arguments, 'arguments', required),
      ...detailsOf(change.output, 'output'),
    ],
  })
}

/** By the worst thing that happened to a parameter. */
function toolChangeType({ changes }: SideChange): ChangeType {
  const top = changes.filter(({ path }) => /^\/[^/]*$/.test(path)).map(({ change }) => change)
  if (top.includes('required_added')) return 'tool_schema_required_param_added'
  if (top.includes('property_removed')) return 'tool_schema_param_removed'
  const onlyAdded = changes.length > 0 && changes.every(({ change }) => change === 'property_added')
  return onlyAdded ? 'tool_schema_optional_param_added' : 'tool_schema_changed'
}

function detailsOf(
  { kind, changes }: SideChange,
  role: 'arguments' | 'output',
  required: ReadonlySet<unknown> = new Set(),
): ChangeDetail[] {
  if (kind === 'unknown') return [{ change: 'schema_unverifiable', role }]
  return changes.map((change) => ({
    change: change.change,
    role,
    path: change.path,
    relation: relationOf([change], role),
    ...(required.has(parameterOf(change.path)) && { required: true as const }),
  }))
}

/** The parameter that a path leads into. */
function parameterOf(path: string) {
  return path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Parameters that either tool requires. */
function requiredOf(before: Component, after: Component) {
  const names = [readTool(before), readTool(after)].flatMap(({ input }): unknown[] => {
    const required: unknown = input?.['required']
    return Array.isArray(required) ? required : []
  })
  return new Set(names)
}

/** Configuration only is minor, another version of the family moderate, another family major. */
function compareModels(before: Component, after: Component): SurfaceChange | undefined {
  const [old, now] = [readModel(before), readModel(after)]
  const details = [
    { change: 'provider', from: old.provider, to: now.provider },
    { change: 'model', from: old.model, to: now.model },
    { change: 'version', from: before.component_version, to: after.component_version },
  ].filter(({ from, to }) => from !== to)
  const renamed = before.component_name !== after.component_name
  if (!renamed && details.length === 0) {
    if (sameContent(before, after)) return undefined
    const told = Object.keys(before.schema_json).length > 0
    if (told && contentHash(before) === contentHash(after)) return describe(before, DOC_ONLY)
  }
  return describe(before, {
    ...wordsFor('model', 'changed'),
    severity: details.length === 0 ? 'minor' : isOneFamily(before, after) ? 'moderate' : 'major',
    new_name: renamed ? after.component_name : null,
    details,
  })
}

/** By the share of the text that is new: up to 5 % minor, up to 30 % moderate. */
function describePromptChange(before: Component, after: Component): SurfaceChange {
  const words = wordsFor('prompt', 'changed')
  const [old, now] = [readPrompt(before).text, readPrompt(after).text]
  if (old === null || now === null) return describe(before, words)
  const share = 1 - similarity(old, now)
  return describe(before, {
    ...words,
    severity: share <= 0.05 ? 'minor' : share <= 0.3 ? 'moderate' : 'major',
    details: [{ change: 'text_share_changed', to: Math.round(share * 1000) / 1000 }],
  })
}

/** Strictness is major, the schema moderate, the format alone minor. */
function describeOutputChange(before: Component, after: Component): SurfaceChange {
  const [old, now] = [readOutput(before), readOutput(after)]
  const facts: ChangeDetail[] = [
    { change: 'format', from: old.format, to: now.format },
    { change: 'schema_told', from: old.schema !== null, to: now.schema !== null },
    { change: 'strict', from: old.strict, to: now.strict },
  ].filter(({ from, to }) => from !== to)
  const changed = new Set(facts.map(({ change }) => change))
  const sameSchema = !changed.has('schema_told') && saysTheSame(old.schema ?? {}, now.schema ?? {})
  if (sameSchema && facts.length === 0 && old.format !== null) return describe(before, DOC_ONLY)
  const changes = old.schema && now.schema ? compareSchemas(old.schema, now.schema) : []
  const relation = relationOf(changes, 'output')
  const formatOnly = sameSchema && changed.has('format')
  return describe(before, {
    ...wordsFor('output_contract', 'changed'),
    severity: changed.has('strict') ? 'major' : formatOnly ? 'minor' : 'moderate',
    breaking: relation === 'breaking' || (changes.length === 0 && !formatOnly),
    details: [...facts, ...detailsOf({ kind: 'checked', changes, relation }, 'output')],
  })
}

function describe(component: Component, change: Description): SurfaceChange {
  return {
    surface: keyOf(component),
    component_type: component.component_type,
    component_name: component.component_name,
    new_name: null,
    details: [],
    ...change,
  }
}

function wordsFor(type: ComponentType, state: 'changed' | 'removed' | 'added'): Description {
  const [change_type, severity, breaking] = WORDS[state][type] ?? OTHER
  return { state, change_type, severity, breaking }
}

type Description = Pick<SurfaceChange, 'state' | 'change_type' | 'severity' | 'breaking'> &
  Partial<Pick<SurfaceChange, 'new_name' | 'details'>>
type Words = readonly [ChangeType, Severity, breaking: boolean]

const DOC_ONLY: Description = {
  state: 'doc_only',
  change_type: 'component_changed',
  severity: 'minor',
  breaking: false,
}

const OTHER: Words = ['component_changed', 'minor', false]
const WORDS: Record<'changed' | 'removed' | 'added', Partial<Record<ComponentType, Words>>> = {
  changed: {
    model: ['model_changed', 'moderate', false],
    prompt: ['prompt_section_rewritten', 'moderate', false],
    skill: ['skill_modified', 'moderate', false],
    subagent: ['subagent_changed', 'moderate', false],
    output_contract: ['output_contract_changed', 'moderate', true],
  },
  removed: {
    tool: ['tool_removed', 'major', true],
    model: ['model_changed', 'major', false],
    prompt: ['prompt_section_rewritten', 'moderate', false],
    skill: ['skill_removed', 'moderate', true],
    subagent: ['subagent_removed', 'major', true],
    output_contract: ['output_contract_changed', 'moderate', true],
  },
  added: {
    tool: ['tool_added', 'minor', false],
    model: ['model_changed', 'minor', false],
    prompt: ['prompt_section_rewritten', 'moderate', false],
    skill: ['skill_added', 'minor', false],
    subagent: ['subagent_added', 'moderate', false],
    output_contract: ['output_contract_changed', 'moderate', false],
  },
}

/** All words of `change_type`. */
export const CHANGE_TYPES = [
  'tool_removed',
  'tool_added',
  'tool_renamed',
  'tool_schema_required_param_added',
  'tool_schema_optional_param_added',
  'tool_schema_param_removed',
  'tool_schema_changed',
  'prompt_section_rewritten',
  'skill_removed',
  'skill_added',
  'skill_modified',
  'model_changed',
  'subagent_removed',
  'subagent_added',
  'subagent_changed',
  'output_contract_changed',
  'component_changed',
] as const
