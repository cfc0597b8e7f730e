import type { Verdict } from '../core/verdicts.ts'
import type { Severity } from './surface-change.ts'

export type CompatAction = (typeof COMPAT_ACTIONS)[number]

export interface CompatPolicy {
  readonly name: string
  readonly version: number
  readonly tool_missing: CompatAction
  readonly tool_schema_incompatible: CompatAction
  readonly tool_schema_unverifiable: CompatAction
  readonly tool_undeclared: CompatAction
  readonly output_contract_changed: CompatAction
  readonly skill_missing: CompatAction
  readonly skill_content_changed: CompatAction
  readonly subagent_interface_changed: CompatAction
  readonly model: Readonly<Record<Severity, CompatAction>>
  readonly prompt: Readonly<Record<Severity, CompatAction>>
}

/** From the least to the worst; `flag` keeps the verdict and asks for a look. */
export const COMPAT_ACTIONS = ['keep', 'repair', 'flag', 'replay', 'drop'] as const

/** Never destroys: only a trace that would have to be run again and cannot is dropped. */
export const DEFAULT_COMPAT_POLICY: CompatPolicy = {
  name: 'default',
  version: 1,
  tool_missing: 'replay',
  tool_schema_incompatible: 'replay',
  tool_schema_unverifiable: 'replay',
  tool_undeclared: 'flag',
  output_contract_changed: 'replay',
  skill_missing: 'replay',
  skill_content_changed: 'flag',
  subagent_interface_changed: 'replay',
  model: { minor: 'keep', moderate: 'flag', major: 'replay' },
  prompt: { minor: 'keep', moderate: 'flag', major: 'replay' },
}

/** Days of traffic, back from now, on which manifests are compared unless asked otherwise. */
export const TRACE_WINDOW_DAYS = 30

/** Version of the compatibility rules; a report names the one that made it. */
export const COMPAT_ENGINE_VERSION = '2'

/** How compatible a trace of each verdict is, 0 to 1. */
export const COMPAT_SCORES: Readonly<Record<Verdict, number>> = {
  keep: 1,
  repair: 0.75,
  replay: 0.25,
  drop: 0,
}
