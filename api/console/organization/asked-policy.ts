import { PRESETS, resolvePolicy, TRUSTS } from '../../../jobs/rules/evals/decision-policy.ts'
import type { PolicySettings, Trust } from '../../../jobs/rules/evals/decision-policy.ts'
import type { AnswerOf } from '../../endpoint.ts'
import type { showPolicy } from '../../evals/show-policy.ts'
import type { Query } from '../page.ts'

/** The settings that the address asks for: those of its preset with what it names, or those that hold. */
export function askedSettings(query: Query, held: ShownPolicy): PolicySettings {
  const preset = PRESETS.find((name) => name === query['preset'])
  if (!preset) return settingsOf(held)
  const source_weights: Partial<Record<Trust, number | undefined>> = {}
  for (const trust of TRUSTS) {
    const weight = numberOf(query[trust])
    if (weight !== undefined) source_weights[trust] = weight
  }
  const thresholds = { keep_at: numberOf(query['keep_at']), drop_at: numberOf(query['drop_at']) }
  return resolvePolicy({ preset, thresholds, source_weights })
}

/** Settings as the query of a preview, and of the page that shows it. */
export function queryOf({ preset, keep_at, drop_at, source_weights }: PolicySettings): Query {
  const numbers = Object.entries({ keep_at, drop_at, ...source_weights })
  return {
    preset,
    ...Object.fromEntries(numbers.map(([name, value]) => [name, String(value)])),
  }
}

export function settingsOf({ preset, thresholds, source_weights }: ShownPolicy): PolicySettings {
  return resolvePolicy({ preset, thresholds, source_weights })
}

/** Undefined for what is no number; one that is out of range is refused by the preview. */
function numberOf(text: string | undefined) {
  return text === undefined || text === '' || Number.isNaN(Number(text)) ? undefined : Number(text)
}

type ShownPolicy = AnswerOf<typeof showPolicy>
