import { order } from '../core/order.ts'

/** One piece of an agent's structural identity. Wire names throughout. */
export interface Component {
  component_type: ComponentType
  component_name: string
  component_version: string | null
  /** The client's own, which says nothing but equal or not, or else ours over `schema_json`. */
  content_hash: string
  /** What the client gave of the component; `{}` when it gave hashes only. */
  schema_json: Record<string, unknown>
}

export type ComponentType = (typeof COMPONENT_TYPES)[number]

/** What an agent was made of at one time. */
export interface Manifest {
  readonly components: readonly Component[]
  /** The components are all there is: whatever else a trace uses is a violation. */
  readonly is_closed_world: boolean
}

/** By type, then name; code units decide, so that every machine has the same order. */
export function byTypeAndName(a: Named, b: Named) {
  return order(a.component_type, b.component_type) || order(a.component_name, b.component_name)
}

export const COMPONENT_TYPES = [
  'tool',
  'model',
  'prompt',
  'skill',
  'subagent',
  'output_contract',
  'workflow',
  'guardrail',
  'context_config',
  'behavioral_policy',
  'environment',
] as const

type Named = Pick<Component, 'component_type' | 'component_name'>
