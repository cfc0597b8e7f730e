import type { Transition } from './compat-plan.ts'
import { readContract, toolDescription } from './contract.ts'
import type { JsonSchema } from './contract.ts'
import type { Manifest } from './manifest.ts'
import { indexRules } from './repair-rules.ts'
import type { RepairRule } from './tool-repair.ts'

/** What patching traces of one manifest to fit another needs, worked out once. */
export interface RepairPlan {
  readonly transition: Transition
  readonly indices: ReadonlyMap<RepairRule, number>
  /** By its name in either manifest: what a tool is offered as from now on; null for one that went. */
  readonly offers: ReadonlyMap<string, Offer | null>
}

/** How the target manifest defines a tool. */
export interface Offer {
  readonly name: string
  /** Null where nothing is told; the recorded one stays. */
  readonly description: string | null
  readonly schema: JsonSchema | null
  /** Characters of JSON, about. */
  readonly length: number
}

export function planRepair(transition: Transition, target: Manifest): RepairPlan {
  const offers = offersOf(target)
  return {
    transition,
    indices: indexRules(transition),
    offers: new Map(
      [...transition.declared].map((name) => {
        const plan = transition.tools.get(name)
        return [name, offers.get(plan?.kind === 'renamed' ? plan.rule.to : name) ?? null]
      }),
    ),
  }
}

function offersOf(target: Manifest): Map<string, Offer> {
  const { tools } = readContract(target)
  const components = target.components.filter(({ component_type: type }) => type === 'tool')
  return new Map(
    components.map((component) => {
      const { component_name: name } = component
      const given = toolDescription(component)
      const description = typeof given === 'string' ? given : null
      const schema = tools.get(name)?.input ?? null
      const length = JSON.stringify({ name, description, schema }).length
      return [name, { name, description, schema, length }]
    }),
  )
}
