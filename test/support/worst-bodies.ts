import type { Document, Schema } from './document.ts'
import { leastValue, resolve } from './document.ts'

/** A body that goes to its limits, and what is bad about it. */
export interface WorstBody {
  readonly name: string
  readonly value: unknown
}

interface Limits {
  readonly values: number
  /** Of one object. */
  readonly members: number
  readonly bytes: number
}

/**
 * The values that cost an operation most within its limits. Each is the example of its document, which
 * is accepted, with one member driven to the limits, so that the operation works on it as far as it can.
 */
export function* worstBodies(
  document: Document,
  schema: Schema,
  limits: Limits,
): Generator<WorstBody> {
  const { properties = {}, example = {} } = resolved(document, schema)
  const put = (name: string, value: unknown) => ({ ...(example as object), [name]: value })
  for (const [name, member] of Object.entries(properties)) {
    const list = choicesOf(document, member).find(({ type }) => type === 'array')
    if (list) {
      const item = fullValue(document, list.items ?? {})
      const max = list.maxItems ?? 0
      const count = Math.min(
        max,
        limits.values / (4 + countValues(item)),
        limits.bytes / sizeOf(item),
      )
      yield { name: `${name} at its longest`, value: put(name, fill(count, item)) }
      for (const wrong of [0, {}, 'x'.repeat(300)]) {
        const count = Math.min(max, limits.bytes / sizeOf(wrong))
        yield { name: `${name} of ${typeof wrong}s`, value: put(name, fill(count, wrong)) }
      }
    }
  }
  const free = Object.keys(properties).filter((name) =>
    choicesOf(document, properties[name] as Schema).some((each) => !each.type || isFree(each)),
  )
  for (const name of ['unknown', ...free]) {
    for (const [what, value] of freeValues(limits))
      yield { name: `${name}: ${what}`, value: put(name, value) }
  }
}

/** Values that fill the limits, each in a way of its own. */
export function* freeValues({ values, bytes, members }: Limits): Generator<[string, object]> {
  const count = values - 200
  const names = Array.from({ length: count }, (_, i) => `n${i}`)
  const wide = (from: number) =>
    Object.fromEntries(names.slice(from, from + members).map((name) => [name, 0]))
  const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)])
  yield ['empty objects', { a: fill(count, {}) }]
  yield ['wide objects', { a: fill(count / members - 1, 0).map((_, i) => wide(i * members)) }]
  yield ['a wide object', wide(0)]
  yield ['distinct objects', { a: names.slice(0, count / 2).map((name) => ({ [name]: 0 })) }]
  yield ['deep lists', { a: Array.from({ length: count / 60 }, () => deep(58)) }]
  yield ['a long text', { a: 'x'.repeat(bytes - 4000) }]
  yield ['a text of escapes', { a: '"'.repeat(bytes / 2 - 4000) }]
  yield ['a text of NULs', { a: '\0'.repeat(bytes / 6 - 4000) }]
  yield ['a text beyond ASCII', { a: 'é'.repeat(bytes / 2 - 4000) }]
}

/** A small value with every member there is. */
function fullValue(document: Document, schema: Schema): unknown {
  const found = resolved(document, schema)
  const [choice] = found.anyOf ?? found.allOf ?? []
  if (choice) return fullValue(document, choice)
  if (!found.properties) return leastValue(document, found)
  const members = Object.entries(found.properties)
  return Object.fromEntries(members.map(([name, member]) => [name, fullValue(document, member)]))
}

function choicesOf(document: Document, schema: Schema): Schema[] {
  const found = resolved(document, schema)
  const choices = found.anyOf ?? found.allOf
  return choices ? choices.flatMap((each) => choicesOf(document, each)) : [found]
}

function resolved(document: Document, schema: Schema): Schema {
  return schema.$ref ? resolved(document, resolve(document, schema.$ref)) : schema
}

const isFree = ({ type, properties }: Schema) => type === 'object' && !properties
const fill = (count: number, item: unknown) => Array<unknown>(Math.floor(count)).fill(item)
const sizeOf = (value: unknown) => (JSON.stringify(value) ?? '').length + 1

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + countValues(each), 1)
}
