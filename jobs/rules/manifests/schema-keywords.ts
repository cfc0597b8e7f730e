import { canonicalJson } from '../core/canonical-json.ts'
import type { JsonSchema } from './contract.ts'

/** One difference between two schemas, by what it does to the set of values they accept. */
export interface SchemaChange {
  /** JSON pointer into a value: `/order/items`; '' is the whole value, `/*` any item or other member. */
  readonly path: string
  readonly change: string
  readonly effect: 'narrows' | 'widens' | 'may_narrow' | 'may_widen' | 'incomparable'
}

/** Compares what two schemas say of a value itself: its type, its values, bounds and forms. */
export function compareKeywords(
  before: JsonSchema,
  after: JsonSchema,
  path: string,
): SchemaChange[] {
  return [
    ...compareTypes(before, after, path),
    ...compareValues(before, after, path),
    ...BOUNDS.flatMap(([name, sign]) => compareBound(before, after, path, name, sign)),
    ...compareMultiple(before, after, path),
    ...OPAQUE.flatMap((name) => compareOpaque(before, after, path, name)),
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
  const divides = (a: unknown, b: unknown) => Number.isInteger(Number(a) / Number(b))
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
  const isSet = (value: unknown) => value !== undefined && value !== false
  const [old, now] = [isSet(before[name]), isSet(after[name])]
  if (!old && now) return [{ path, change: `${name}_added`, effect: 'narrows' }]
  if (old && !now) return [{ path, change: `${name}_removed`, effect: 'widens' }]
  if (!old || same(before[name], after[name])) return []
  return [{ path, change: `${name}_changed`, effect: 'incomparable' }]
}

/** Whether two values are one in canonical JSON; null stands for none. */
export function same(a: unknown, b: unknown) {
  return a === b || canonicalJson(a ?? null) === canonicalJson(b ?? null)
}

function when(holds: boolean, change: SchemaChange): SchemaChange[] {
  return holds ? [change] : []
}

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
