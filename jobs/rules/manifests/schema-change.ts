import type { JsonSchema } from './contract.ts'
import { order } from '../core/order.ts'
import { isObject } from '../core/reader.ts'
import { withoutDocs } from './schema-docs.ts'
import { compareKeywords, same } from './schema-keywords.ts'
import type { SchemaChange } from './schema-keywords.ts'

/** What a change of a schema means to those who rely on the old one. */
export type Relation = 'equal' | 'compatible' | 'possibly_breaking' | 'breaking' | 'incomparable'

/**
 * Compares what two schemas accept, member by member. This explains a change; whether recorded values
 * survive it is found by validating them. Combinations (oneOf, $ref, if, ...) that differ are not
 * looked into: no claim is made about them.
 */
export function compareSchemas(before: JsonSchema, after: JsonSchema): SchemaChange[] {
  return compare(withoutDocs(before), withoutDocs(after), '').sort(
    (a, b) => order(a.path, b.path) || order(a.change, b.change),
  )
}

/**
 * Arguments break when fewer are accepted, outputs when more can come: a caller must still be
 * understood, a reader must still understand.
 */
export function relationOf(
  changes: readonly SchemaChange[],
  role: 'arguments' | 'output',
): Relation {
  const [breaking, possibly] =
    role === 'arguments' ? ['narrows', 'may_narrow'] : ['widens', 'may_widen']
  const has = (effect: string | undefined) => changes.some((change) => change.effect === effect)
  if (changes.length === 0) return 'equal'
  if (has(breaking)) return 'breaking'
  if (has('incomparable')) return 'incomparable'
  return has(possibly) ? 'possibly_breaking' : 'compatible'
}

function compare(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  if (same(before, after)) return []
  return [
    ...compareKeywords(before, after, path),
    ...compareRequired(before, after, path),
    ...compareProperties(before, after, path),
    ...compareOthers(before, after, path, 'additionalProperties'),
    ...compareOthers(before, after, path, 'items'),
    ...COMBINATIONS.filter((name) => !same(before[name], after[name])).map((name) => ({
      path,
      change: `${name}_changed`,
      effect: 'incomparable' as const,
    })),
  ]
}

function compareRequired(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  const [old, now] = [namesOf(before['required']), namesOf(after['required'])]
  const at = (name: string) => `${path}/${pointer(name)}`
  return [
    ...[...now]
      .filter((name) => !old.has(name))
      .map((name) => ({ path: at(name), change: 'required_added', effect: 'narrows' as const })),
    ...[...old]
      .filter((name) => !now.has(name))
      .map((name) => ({ path: at(name), change: 'required_relaxed', effect: 'widens' as const })),
  ]
}

function compareProperties(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  const [old, now] = [propertiesOf(before), propertiesOf(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.flatMap((name): SchemaChange[] => {
    const at = `${path}/${pointer(name)}`
    const [was, is] = [old.get(name), now.get(name)]
    if (was && is) return compare(was, is, at)
    if (is) {
      const effect = before['additionalProperties'] === false ? 'widens' : 'may_narrow'
      return [{ path: at, change: 'property_added', effect: isAnything(is) ? 'widens' : effect }]
    }
    const effect = after['additionalProperties'] === false ? 'narrows' : 'may_widen'
    return [{ path: at, change: 'property_removed', effect }]
  })
}

/** What holds for all items, or for members that are not named; without a schema anything goes. */
function compareOthers(
  before: JsonSchema,
  after: JsonSchema,
  path: string,
  name: string,
): SchemaChange[] {
  const [old, now] = [before[name], after[name]]
  if (same(old ?? true, now ?? true)) return []
  const at = `${path}/*`
  const found = (change: string, effect: SchemaChange['effect']) => [{ path: at, change, effect }]
  if (isObject(old) && isObject(now)) return compare(old, now, at)
  if (now === false)
    return found(`${name}_closed`, old === undefined || old === true ? 'may_narrow' : 'narrows')
  if (old === false) return found(`${name}_opened`, 'widens')
  if (isObject(now) && !Array.isArray(old)) return found(`${name}_restricted`, 'narrows')
  if (isObject(old) && !Array.isArray(now)) return found(`${name}_freed`, 'widens')
  return found(`${name}_changed`, 'incomparable')
}

function propertiesOf({ properties }: JsonSchema) {
  const entries = isObject(properties) ? Object.entries(properties) : []
  return new Map(entries.map(([name, schema]) => [name, isObject(schema) ? schema : {}]))
}

function namesOf(required: unknown) {
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [])
}

function isAnything(schema: JsonSchema) {
  return Object.keys(schema).every((name) => name === 'default')
}

function pointer(name: string) {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

const COMBINATIONS = [
  '$defs',
  '$dynamicRef',
  '$ref',
  'allOf',
  'anyOf',
  'contains',
  'definitions',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'oneOf',
  'patternProperties',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
