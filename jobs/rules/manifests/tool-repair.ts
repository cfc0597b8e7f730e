import { canonicalJson } from '../core/canonical-json.ts'
import type { JsonSchema } from './contract.ts'
import { isObject } from '../core/reader.ts'
import type { Validate } from './schema-check.ts'
import { withoutDocs } from './schema-docs.ts'

/** A mechanical change that makes recorded arguments fit a new schema. `tool` null: the final output. */
export type RepairRule = RenameRule | ArgumentRule
export type RenameRule = {
  readonly tool: string
  readonly rule: 'rename_tool'
  readonly to: string
}
export type ArgumentRule = { readonly tool: string | null } & ParameterRule

export type ParameterRule =
  | { readonly rule: 'rename_param'; readonly from: string; readonly to: string }
  | { readonly rule: 'drop_param'; readonly param: string }
  | { readonly rule: 'add_default'; readonly param: string; readonly value: unknown }
  | { readonly rule: 'coerce'; readonly param: string; readonly to: CoercedType }

/**
 * What may turn values of the old schema into values of the new one, in the order to be applied.
 * Nothing is guessed: a parameter is renamed only when exactly one that went and one that came have
 * one sub-schema, and a value is added only when the schema itself names it.
 */
export function parameterRules(before: JsonSchema, after: JsonSchema): ParameterRule[] {
  const [old, now] = [propertiesOf(before), propertiesOf(after)]
  const gone = [...old.keys()].filter((name) => !now.has(name)).sort()
  const fresh = [...now.keys()].filter((name) => !old.has(name)).sort()
  const renames = renamesAmong(gone, fresh, old, now)
  const renamed = new Set(renames.flatMap(({ from, to }) => [from, to]))
  const drops = after['additionalProperties'] === false ? gone : []
  const required = namesOf(after['required']).filter((name) => !renamed.has(name))
  return [
    ...renames,
    ...drops
      .filter((param) => !renamed.has(param))
      .map((param) => ({ rule: 'drop_param' as const, param })),
    ...required.sort().flatMap((param) => defaultFor(param, now.get(param))),
    ...[...now.keys()].sort().flatMap((param) => coercionOf(param, old.get(param), now.get(param))),
  ]
}

/** Rules that several calls asked for, in the order to be applied: a default may need its coercion. */
export function inOrder(rules: readonly RepairRule[]): RepairRule[] {
  return rules.toSorted((a, b) => RULE_ORDER.indexOf(a.rule) - RULE_ORDER.indexOf(b.rule))
}

/**
 * The value with what applies of the rules, and the rules that did, where together they make it fit;
 * undefined where they do not.
 */
export function repairValue<Rule extends ParameterRule>(
  value: unknown,
  rules: readonly Rule[],
  validate: Validate,
) {
  if (rules.length === 0 || !isObject(value)) return undefined
  const repaired = applyRules(rules, value)
  const fits = repaired.used.length > 0 && validate(repaired.value)?.length === 0
  return fits ? repaired : undefined
}

/** Applies what applies; the value itself is left as it is. */
export function applyRules<Rule extends ParameterRule>(
  rules: readonly Rule[],
  value: Record<string, unknown>,
) {
  const result = { ...value }
  const used = rules.filter((rule) => applyRule(rule, result))
  return { value: result, used }
}

/**
 * The value in another type when that is the same thing said: a number or a truth value as text, a
 * number's own canonical text as number, a scalar as a list of one. Anything else comes back unchanged.
 */
export function coerce(value: unknown, to: CoercedType): unknown {
  const type = typeof value
  switch (to) {
    case 'string':
      return type === 'number' || type === 'boolean' ? String(value) : value
    case 'number':
    case 'integer': {
      const isCanonical = type === 'string' && CANONICAL_NUMBER.test(value as string)
      const number = Number(value)
      if (!isCanonical || String(number) !== value) return value
      return to === 'number' || Number.isInteger(number) ? number : value
    }
    case 'array':
      return type === 'string' || type === 'number' || type === 'boolean' ? [value] : value
  }
}

/** True when the rule changed something. */
function applyRule(rule: ParameterRule, value: Record<string, unknown>): boolean {
  const has = (name: string) => Object.hasOwn(value, name)
  switch (rule.rule) {
    case 'rename_param':
      if (!has(rule.from) || has(rule.to)) return false
      value[rule.to] = value[rule.from]
      return delete value[rule.from]
    case 'drop_param':
      return has(rule.param) && delete value[rule.param]
    case 'add_default':
      if (has(rule.param)) return false
      value[rule.param] = structuredClone(rule.value)
      return true
    case 'coerce': {
      if (!has(rule.param)) return false
      const before = value[rule.param]
      value[rule.param] = coerce(before, rule.to)
      return value[rule.param] !== before
    }
  }
}

/** Each schema is written once: a manifest may have thousands of parameters. */
function renamesAmong(
  gone: readonly string[],
  fresh: readonly string[],
  old: ReadonlyMap<string, JsonSchema>,
  now: ReadonlyMap<string, JsonSchema>,
) {
  const before = Map.groupBy(gone, (name) => canonicalJson(withoutDocs(old.get(name))))
  const after = Map.groupBy(fresh, (name) => canonicalJson(withoutDocs(now.get(name))))
  return [...before].flatMap(([schema, [from, ...rivals]]) => {
    const [to, ...others] = after.get(schema) ?? []
    if (from === undefined || to === undefined) return []
    const isUnique = rivals.length === 0 && others.length === 0
    return isUnique ? [{ rule: 'rename_param' as const, from, to }] : []
  })
}

function defaultFor(param: string, schema: JsonSchema | undefined): ParameterRule[] {
  const values: unknown = schema?.['enum']
  const only: unknown[] = Array.isArray(values) && values.length === 1 ? values : []
  const value = [schema?.['default'], schema?.['const'], only[0]].find((each) => each !== undefined)
  return value === undefined ? [] : [{ rule: 'add_default', param, value }]
}

function coercionOf(
  param: string,
  old: JsonSchema | undefined,
  now: JsonSchema | undefined,
): ParameterRule[] {
  const to = now?.['type']
  if (!old || !isCoercedType(to)) return []
  const unchanged = canonicalJson(withoutDocs(old)['type'] ?? null) === canonicalJson(to)
  return unchanged ? [] : [{ rule: 'coerce', param, to }]
}

function isCoercedType(type: unknown): type is CoercedType {
  return (COERCED_TYPES as readonly unknown[]).includes(type)
}

function propertiesOf({ properties }: JsonSchema): Map<string, JsonSchema> {
  const entries = isObject(properties) ? Object.entries(properties) : []
  return new Map(entries.map(([name, schema]) => [name, isObject(schema) ? schema : {}]))
}

function namesOf(required: unknown): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

const RULE_ORDER: readonly RepairRule['rule'][] = [
  'rename_tool',
  'rename_param',
  'drop_param',
  'add_default',
  'coerce',
]
const COERCED_TYPES = ['string', 'number', 'integer', 'array'] as const
/** As JSON writes numbers, so that "007" and "1e3" stay texts. */
const CANONICAL_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/

export type CoercedType = (typeof COERCED_TYPES)[number]
