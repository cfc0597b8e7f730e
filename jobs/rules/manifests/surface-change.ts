import type { Component, ComponentType } from './manifest.ts'

/** One component that is different in the new manifest. */
export interface SurfaceChange {
  /** `<component_type>:<component_name>`, by the name in the old manifest where it has one. */
  readonly surface: string
  readonly component_type: ComponentType
  readonly component_name: string
  /** The new name of a renamed tool or of a model that replaced another. */
  readonly new_name: string | null
  /** `doc_only` changes cannot affect a recorded trace. */
  readonly state: 'doc_only' | 'changed' | 'added' | 'removed' | 'renamed'
  readonly change_type: ChangeType
  readonly severity: Severity
  /** What worked with the old one may not with the new one; true where only hashes are given. */
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

export function describeRename(before: Component, after: Component): SurfaceChange {
  return describeChange(before, {
    state: 'renamed',
    change_type: 'tool_renamed',
    severity: 'major',
    breaking: true,
    new_name: after.component_name,
  })
}

export function describeRemoval(component: Component): SurfaceChange {
  return describeChange(component, wordsFor(component.component_type, 'removed'))
}

export function describeAddition(component: Component): SurfaceChange {
  return describeChange(component, wordsFor(component.component_type, 'added'))
}

export function keyOf({ component_type, component_name }: Component) {
  return `${component_type}:${component_name}`
}

export function describeChange(component: Component, change: Description): SurfaceChange {
  return {
    surface: keyOf(component),
    component_type: component.component_type,
    component_name: component.component_name,
    new_name: null,
    details: [],
    ...change,
  }
}

/** How a change of a component reads where nothing more is known of it. */
export function wordsFor(type: ComponentType, state: 'changed' | 'removed' | 'added'): Description {
  const [change_type, severity, breaking] = WORDS[state][type] ?? OTHER
  return { state, change_type, severity, breaking }
}

type Description = Pick<SurfaceChange, 'state' | 'change_type' | 'severity' | 'breaking'> &
  Partial<Pick<SurfaceChange, 'new_name' | 'details'>>
type Words = readonly [ChangeType, Severity, breaking: boolean]

export const DOC_ONLY: Description = {
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
    workflow: ['component_changed', 'major', true],
    behavioral_policy: ['component_changed', 'moderate', true],
    environment: ['component_changed', 'moderate', false],
  },
  removed: {
    tool: ['tool_removed', 'major', true],
    model: ['model_changed', 'major', false],
    prompt: ['prompt_section_rewritten', 'moderate', false],
    skill: ['skill_removed', 'moderate', true],
    subagent: ['subagent_removed', 'major', true],
    output_contract: ['output_contract_changed', 'moderate', true],
    workflow: ['component_changed', 'major', true],
    behavioral_policy: ['component_changed', 'moderate', true],
    environment: ['component_changed', 'moderate', false],
  },
  added: {
    tool: ['tool_added', 'minor', false],
    model: ['model_changed', 'minor', false],
    prompt: ['prompt_section_rewritten', 'moderate', false],
    skill: ['skill_added', 'minor', false],
    subagent: ['subagent_added', 'moderate', false],
    output_contract: ['output_contract_changed', 'moderate', true],
    workflow: ['component_changed', 'moderate', false],
    behavioral_policy: ['component_changed', 'moderate', true],
    environment: ['component_changed', 'moderate', false],
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
