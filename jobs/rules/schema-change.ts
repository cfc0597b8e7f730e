import { canonicalJson } from './canonical-json.ts'
import type { JsonSchema } from './contract.ts'
import { order } from './manifest.ts'
import { isObject } from './reader.ts'

/** One difference between two schemas, by what it does to the set of values they accept. */
export interface SchemaChange {
  /** JSON pointer into a value: `/order/items`; '' is the whole value, `/*` any item or other member. */
  readonly path: string
  readonly change: string
  readonly effect: 'narrows' | 'widens' | 'may_narrow' | 'may_widen' | 'incomparable'
}

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

/** A schema without description, title, examples and $comment, which accept and refuse nothing. */
export function withoutDocs(schema: unknown): JsonSchema {
  return (isObject(schema) ? stripped(schema) : {}) as JsonSchema
}

/** Whether two schemas differ in documentation at most. */
export function saysTheSame(a: JsonSchema, b: JsonSchema) {
  return canonicalJson(withoutDocs(a)) === canonicalJson(withoutDocs(b))
}

function stripped(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(stripped)
  if (!isObject(schema)) return schema
  const members = Object.entries(schema).filter(([name]) => !DOCS.has(name))
  return Object.fromEntries(
    members.map(([name, value]) => {
      if (PLAIN.has(name)) return [name, value]
      return [name, NAMED_SCHEMAS.has(name) && isObject(value) ? mapped(value) : stripped(value)]
    }),
  )
}

function mapped(schemas: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(schemas).map(([name, each]) => [name, stripped(each)]))
}

function compare(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  if (same(before, after)) return []
  return [
    ...compareTypes(before, after, path),
    ...compareValues(before, after, path),
    ...BOUNDS.flatMap(([name, grows]) => compareBound(before, after, path, name, grows)),
    ...compareMultiple(before, after, path),
    ...OPAQUE.flatMap((name) => compareOpaque(before, after, path, name)),
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

function compareTypes(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  const [old, now] = [typesOf(before), typesOf(after)]
  const narrows = [...old].some((type) => !now.has(type))
  const widens = [...now].some((type) => !old.has(type))
  return [
    ...when(narrows, { path, change: 'type_narrowed', effect: 'narrows' }),
    ...when(widens, { path, change: 'type_widened', effect: 'widens' }),
  ]
}

/** `number` takes the integers too. */
function typesOf({ type }: JsonSchema): Set<unknown> {
  const types = new Set<unknown>(
    type === undefined ? ALL_TYPES : Array.isArray(type) ? type : [type],
  )
  if (types.has('number')) types.add('integer')
  return types
}

function compareValues(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  const [old, now] = [valuesOf(before), valuesOf(after)]
  if (!old && !now) return []
  const narrows = now !== null && (!old || [...old].some((value) => !now.has(value)))
  const widens = old !== null && (!now || [...now].some((value) => !old.has(value)))
  return [
    ...when(narrows, { path, change: 'enum_value_removed', effect: 'narrows' }),
    ...when(widens, { path, change: 'enum_value_added', effect: 'widens' }),
  ]
}

function valuesOf(schema: JsonSchema): Set<string> | null {
  if (schema['const'] !== undefined) return new Set([canonicalJson(schema['const'])])
  return Array.isArray(schema['enum']) ? new Set(schema['enum'].map(canonicalJson)) : null
}

/** @param sign 1 for a least value, which narrows as it grows; -1 for a greatest one */
function compareBound(
  before: JsonSchema,
  after: JsonSchema,
  path: string,
  name: string,
  sign: number,
): SchemaChange[] {
  const bound = (value: unknown) => (typeof value === 'number' ? sign * value : -Infinity)
  const [old, now] = [bound(before[name]), bound(after[name])]
  return [
    ...when(now > old, { path, change: `${name}_tightened`, effect: 'narrows' }),
    ...when(now < old, { path, change: `${name}_loosened`, effect: 'widens' }),
  ]
}

function compareMultiple(before: JsonSchema, after: JsonSchema, path: string): SchemaChange[] {
  const [old, now] = [before['multipleOf'], after['multipleOf']]
  if (same(old, now)) return []
  const divides = (a: unknown, b: unknown) => Number.isInteger((a as number) / (b as number))
  const change = 'multipleOf_changed'
  if (now === undefined || divides(old, now)) return [{ path, change, effect: 'widens' }]
  if (old === undefined || divides(now, old)) return [{ path, change, effect: 'narrows' }]
  return [{ path, change, effect: 'incomparable' }]
}

/** Rules that are there or not; two different ones cannot be compared. */
function compareOpaque(
  before: JsonSchema,
  after: JsonSchema,
  path: string,
  name: string,
): SchemaChange[] {
  const told = (value: unknown) => value !== undefined && value !== false
  const [old, now] = [told(before[name]), told(after[name])]
  if (!old && now) return [{ path, change: `${name}_added`, effect: 'narrows' }]
  if (old && !now) return [{ path, change: `${name}_removed`, effect: 'widens' }]
  if (!old || same(before[name], after[name])) return []
  return [{ path, change: `${name}_changed`, effect: 'incomparable' }]
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

function same(a: unknown, b: unknown) {
  return a === b || canonicalJson(a ?? null) === canonicalJson(b ?? null)
}

function when(holds: boolean, change: SchemaChange): SchemaChange[] {
  return holds ? [change] : []
}

function pointer(name: string) {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

const DOCS = new Set(['description', 'title', 'examples', '$comment'])
/** Members whose value is no schema. */
const PLAIN = new Set(['enum', 'const', 'default', 'required', 'dependentRequired'])
/** Members whose value holds schemas by names of the tenant's. */
const NAMED_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const ALL_TYPES = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']
const BOUNDS: readonly (readonly [string, number])[] = [
  ['minimum', 1],
  ['exclusiveMinimum', 1],
  ['minLength', 1],
  ['minItems', 1],
  ['minProperties', 1],
  ['maximum', -1],
  ['exclusiveMaximum', -1],
  ['maxLength', -1],
  ['maxItems', -1],
  ['maxProperties', -1],
]
const OPAQUE = ['pattern', 'format', 'uniqueItems']
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
