import { order } from '../core/order.ts'
import type { Verdict } from '../core/verdicts.ts'
import { COMPAT_ACTIONS } from './compat-policy.ts'
import type { CompatAction } from './compat-policy.ts'
import { MAX_COMPONENTS } from './manifest-components.ts'
import type { ComponentType } from './manifest.ts'
import { inOrder } from './tool-repair.ts'
import type { RepairRule } from './tool-repair.ts'
import { isReplayable } from '../traces/trace-use.ts'
import type { UsingTrace } from '../traces/trace-use.ts'

/** What a new manifest makes of a trace recorded under an old one. */
export interface CompatDecision {
  verdict: Verdict
  /** Usable, but something about it could not be decided by rule. */
  needs_review: boolean
  /** By action, worst first, then code and subject: equal decisions have equal bytes. */
  reasons: CompatReason[]
  /**
   * What turns the trace into one of the new manifest, in the order to be applied; empty unless the
   * verdict is `repair`.
   */
  repair_rules: RepairRule[]
}

export interface CompatReason {
  action: CompatAction
  code: CompatCode
  /** Null for what is about the trace itself. */
  component_type: ComponentType | null
  /** Name of the component, as the old manifest has it, or `user_input`, or `trace`. */
  subject: string
  detail?: string
}

/**
 * Gathers what was found of a trace: each reason and each repair once, and at most `MAX_OF_CODE` reasons of each
 * code.
 */
export class Findings {
  readonly #reasons = new Map<string, CompatReason>()
  readonly #byCode = new Map<CompatCode, CompatReason[]>()
  readonly #rules = new Map<string, RepairRule>()

  add(action: CompatAction, code: CompatCode, [component_type, subject]: Surface, detail?: string) {
    const key = `${action} ${code} ${component_type} ${subject}`
    if (this.#reasons.has(key)) return
    const alike = this.#byCode.get(code) ?? []
    const last = alike[MAX_OF_CODE - 1]
    if (last) {
      last.detail ??= 'and others'
      return
    }
    const reason = { action, code, component_type, subject, ...(detail && { detail }) }
    this.#reasons.set(key, reason)
    this.#byCode.set(code, alike)
    alike.push(reason)
  }

  repair(rule: RepairRule) {
    this.#rules.set(JSON.stringify(rule), rule)
  }

  decide(trace: UsingTrace): CompatDecision {
    const reasons = [...this.#reasons.values()]
    const has = (action: CompatAction) => reasons.some((reason) => reason.action === action)
    let verdict: Verdict = has('replay') ? 'replay' : has('repair') ? 'repair' : 'keep'
    if (verdict === 'replay' && !isReplayable(trace)) {
      const code = 'not_replayable'
      reasons.push({ action: 'drop', code, component_type: null, subject: 'user_input' })
      verdict = 'drop'
    }
    if (has('drop')) verdict = 'drop'
    return {
      verdict,
      needs_review: (verdict === 'keep' || verdict === 'repair') && has('flag'),
      reasons: reasons.sort(byActionCodeSubject),
      repair_rules: verdict === 'repair' ? inOrder([...this.#rules.values()]) : [],
    }
  }
}

function byActionCodeSubject(a: CompatReason, b: CompatReason) {
  return (
    COMPAT_ACTIONS.indexOf(b.action) - COMPAT_ACTIONS.indexOf(a.action) ||
    order(a.code, b.code) ||
    order(a.subject, b.subject)
  )
}

/** A manifest has no more components. A trace may use more tools that no manifest has. */
const MAX_OF_CODE = MAX_COMPONENTS

/** A component by type and name. */
export type Surface = readonly [ComponentType, string]

export type CompatCode =
  | 'component_changed'
  | 'insufficient_confidence'
  | 'missing_artifacts'
  | 'model_runtime_changed'
  | 'not_replayable'
  | 'output_contract_changed'
  | 'output_contract_changed_output_still_valid'
  | 'output_contract_changed_repairable'
  | 'prompt_policy_changed'
  | 'skill_content_changed'
  | 'skill_missing'
  | 'subagent_interface_changed'
  | 'tool_missing'
  | 'tool_not_in_manifests'
  | 'tool_renamed'
  | 'tool_schema_changed_args_still_valid'
  | 'tool_schema_changed_repairable'
  | 'tool_schema_incompatible'
  | 'tool_schema_unverifiable'
  | 'trace_not_examinable'
