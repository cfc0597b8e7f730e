import type { CheckedPlan } from './compat-plan.ts'
import type { SchemaFault } from './schema-check.ts'
import { repairValue } from './tool-repair.ts'
import type { ArgumentRule, RenameRule } from './tool-repair.ts'

/** What has to be done with the arguments of a recorded call so that they fit what its tool has become. */
export type ArgumentFit =
  | { readonly kind: 'fitting' | 'unverifiable' }
  | { readonly kind: 'renamed'; readonly rule: RenameRule }
  | {
      readonly kind: 'repaired'
      readonly value: Record<string, unknown>
      readonly used: readonly ArgumentRule[]
    }
  | { readonly kind: 'unfit'; readonly faults: readonly SchemaFault[] }

export function fitArguments(args: unknown, plan: CheckedPlan): ArgumentFit {
  const faults = plan.validate ? plan.validate(args) : []
  if (!faults) return { kind: 'unverifiable' }
  if (plan.kind === 'renamed') {
    return faults.length === 0 ? { kind: 'renamed', rule: plan.rule } : { kind: 'unfit', faults }
  }
  if (faults.length === 0) return { kind: 'fitting' }
  const repaired = repairValue(args, plan.rules, plan.validate)
  return repaired ? { kind: 'repaired', ...repaired } : { kind: 'unfit', faults }
}
