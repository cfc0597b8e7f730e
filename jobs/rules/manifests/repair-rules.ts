import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { order } from '../core/order.ts'
import { planTransition } from './compat-plan.ts'
import type { ToolPlan, Transition } from './compat-plan.ts'
import { COMPAT_ENGINE_VERSION } from './compat-policy.ts'
import type { Manifest } from './manifest.ts'
import type { RepairRule } from './tool-repair.ts'

/** A rule with its place in the list of all rules from one manifest to another, by which it is approved. */
export interface RepairListRule {
  /** Counted from 0. */
  readonly rule_index: number
  readonly rule_type: RepairRule['rule']
  /** Of the tool, as the old manifest has it, or of the output contract. */
  readonly component_name: string
  readonly details: RepairRuleDetails
  readonly rule: RepairRule
}

/** Only the members that the type of the rule has. */
export interface RepairRuleDetails {
  readonly from?: string
  readonly to?: string
  readonly param?: string
  readonly value?: unknown
  /** What values of the parameter are made. */
  readonly type?: string
}

/**
 * All rules from one manifest to another: those of the tools by their old names, then those of the
 * output contract. No schema is compiled: what the rules are does not depend on any value.
 */
export function listRepairRules(before: Manifest, after: Manifest): RepairListRule[] {
  return rulesOf(planTransition(before, after, () => () => undefined))
}

/** The index of each rule in that list, by the very objects that a plan applies. */
export function indexRules(plan: Transition): ReadonlyMap<RepairRule, number> {
  return new Map(rulesOf(plan).map(({ rule, rule_index }) => [rule, rule_index]))
}

function rulesOf({ tools, output }: Transition): RepairListRule[] {
  const byName = [...tools].sort(([a], [b]) => order(a, b))
  const ofTools = byName.flatMap(([name, plan]) => named(name, rulesOfTool(plan)))
  const ofOutput = output ? named(output.name, output.rules) : []
  return [...ofTools, ...ofOutput].map(([component_name, rule], rule_index) => ({
    rule_index,
    rule_type: rule.rule,
    component_name,
    details: detailsOf(rule),
    rule,
  }))
}

function named(name: string, rules: readonly RepairRule[]) {
  return rules.map((rule) => [name, rule] as const)
}

function rulesOfTool(plan: ToolPlan): readonly RepairRule[] {
  if (plan.kind === 'renamed') return [plan.rule]
  return plan.kind === 'changed' ? plan.rules : []
}

/** SHA-256 in hexadecimal digits over the rules, and over the engine that applies them. */
export function hashRepairRules(
  rules: readonly RepairListRule[],
  engineVersion = COMPAT_ENGINE_VERSION,
): string {
  const listed = { engine_version: engineVersion, rules: rules.map(({ rule }) => rule) }
  return createHash('sha256').update(canonicalJson(listed)).digest('hex')
}

function detailsOf(rule: RepairRule): RepairRuleDetails {
  switch (rule.rule) {
    case 'rename_tool':
      return { from: rule.tool, to: rule.to }
    case 'rename_param':
      return { from: rule.from, to: rule.to }
    case 'drop_param':
      return { param: rule.param }
    case 'add_default':
      return { param: rule.param, value: rule.value }
    case 'coerce':
      return { param: rule.param, type: rule.to }
  }
}
