import { gzipSync } from 'node:zlib'
import { exportBytes, exportRequest, spanId, traceId } from './otlp.ts'
import type { GivenSpan } from './otlp.ts'
import type { Document, Schema } from './document.ts'
import { leastValue, resolve } from './document.ts'

interface Limits {
  readonly values: number
  /** Of one object. */
  readonly members: number
  readonly bytes: number
}

/**
 * The bodies, by name and how they are made, that cost an operation most within its limits. Each is the example
 * of its document, which is accepted, with one member driven to the limits, so that the operation works on it as
 * far as it can.
 */
export function openWorstBodies(document: Document, limits: Limits) {
  const values = freeValues(limits)
  return function* (schema: Schema): Generator<[string, () => unknown]> {
    const { properties = {}, example = {} } = resolved(document, schema)
    const put = (name: string, value: unknown) => ({ ...(example as object), [name]: value })
    for (const [name, member] of Object.entries(properties)) {
      const list = choicesOf(document, member).find(({ type }) => type === 'array')
      if (!list) continue
      const { items = {}, maxItems = 0 } = list
      for (const [what, item] of [
        ['at its longest', fullValue(document, items)],
        ['of numbers', 0],
        ['of empty objects', {}],
        ['of texts', 'x'.repeat(300)],
      ] as const) {
        const most = Math.min(maxItems, limits.values / (4 + countValues(item)))
        const count = Math.min(most, limits.bytes / sizeOf(item) - 10)
        yield [`${name} ${what}`, () => put(name, fill(count, item))]
      }
    }
    const free = Object.keys(properties).filter((name) =>
      choicesOf(document, properties[name] as Schema).some((each) => !each.type || isFree(each)),
    )
    for (const name of ['unknown', ...free]) {
      for (const [what, make] of values) yield [`${name}: ${what}`, () => put(name, make())]
    }
  }
}

/**
 * Bodies that only some operations take, or that only they look into, and how they are made. Those that are
 * bytes are no JSON.
 */
export function largeBodies(path: string, { values, bytes }: Limits): [string, () => unknown][] {
  const text = (length: number) => 'x'.repeat(length)
  const batch = (count: number, metadata: () => object) => () =>
    Array.from({ length: count }, () => ({ agent_name: 'a', metadata: metadata() }))
  const call = (output: object) => () => ({ agent_name: 'a', llm_calls: [{ output }] })
  const asked = (json: string) => ({ function: { name: 'f', arguments: json } })
  const list = (count: number) => `[${'{},'.repeat(count)}1]`
  switch (path) {
    case '/traces':
      return [
        ['one JSON text', call({ tool_calls: [asked(list(bytes / 3 - 200))] })],
        ['JSON texts', call({ tool_calls: fill(900, asked(list(1800))) })],
        ['calls of calls', call({ tool_calls: fill(1000, asked('{}')) })],
      ]
    case '/traces/batch':
      return [
        ['more traces than a batch has', () => fill(1_999_000, {})],
        ['traces of a long text', batch(9, () => ({ a: text(bytes - 4000) }))],
        ['traces of a text', batch(990, () => ({ a: text(50_000) }))],
        ['traces of many values', batch(6, () => ({ a: fill(values - 100, {}) }))],
        ['traces of values', batch(990, () => ({ a: fill(2000, {}) }))],
      ]
    case '/import/traces':
      return [
        ['a list that breaks off', () => Buffer.from(`[${'"é",'.repeat(10_400_000)}`)],
        ['more records than an import has', () => ({ traces: fill(17_000_000, 1) })],
        ['one long record', () => ({ traces: [{ a: text(50_000_000) }] })],
        ['much beside', () => ({ traces: [], a: fill(16_000_000, {}) })],
      ]
    case '//v1/traces':
      return worstSpans()
    default:
      return []
  }
}

/** Requests of OpenTelemetry at their limits, as few bytes as may be. */
function worstSpans(): [string, () => unknown][] {
  const request = (count: number, span: (i: number) => Partial<GivenSpan>) =>
    exportRequest(
      Array.from({ length: count }, (_, i) => ({
        trace: traceId(1),
        id: spanId(i + 1),
        parent: spanId(1),
        ...span(i),
      })),
    )
  const zipped = (bytes: string | Buffer) => gzipSync(bytes, { level: 1 })
  const json =
    (...given: Parameters<typeof request>) =>
    () =>
      zipped(JSON.stringify(request(...given)))
  const attributes = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, `${i * 7919}`]))
  const said = (length: number) => JSON.stringify([{ role: 'user', content: prose(length) }])
  const call = (length: number) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': said(length),
  })
  const trace = (n: number) => ({ trace: traceId(n) })
  return [
    ['spans of a trace', json(10_000, () => ({}))],
    ['spans of a trace again', json(10_000, () => ({}))],
    ['spans of texts', json(10_000, () => ({ ...trace(2), attributes: { a: prose(2400) } }))],
    [
      'spans of texts in protobuf',
      () => exportBytes(request(7000, () => ({ ...trace(2), attributes: { a: prose(2400) } }))),
    ],
    ['spans of attributes', json(10_000, () => ({ ...trace(3), attributes: attributes(30) }))],
    [
      'spans of one id',
      json(10_000, () => ({ ...trace(4), id: spanId(1), attributes: { a: prose(4900) } })),
    ],
    [
      'spans that are too much for a trace',
      json(10_000, () => ({ ...trace(5), attributes: call(4900) })),
    ],
    ['spans as long as may be', json(4, () => ({ ...trace(6), attributes: call(7_900_000) }))],
    [
      'spans of as many attributes as may be',
      json(20, () => ({ ...trace(7), attributes: attributes(4900) })),
    ],
    [
      'spans of a hundred traces',
      json(10_000, (i) => ({ ...trace(8 + (i % 100)), attributes: call(4000) })),
    ],
  ]
}

/** Values that fill the limits, each in a way of its own. */
function freeValues({ values, bytes, members }: Limits): [string, () => object][] {
  const count = values - 200
  const names = Array.from({ length: count }, (_, i) => `n${i}`)
  const wide = (from: number) =>
    Object.fromEntries(names.slice(from, from + members).map((name) => [name, 0]))
  const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)])
  return [
    ['empty objects', () => ({ a: fill(count, {}) })],
    ['wide objects', () => ({ a: fill(count / members - 1, 0).map((_, i) => wide(i * members)) })],
    ['a wide object', () => wide(0)],
    ['distinct objects', () => ({ a: names.slice(0, count / 2).map((name) => ({ [name]: 0 })) })],
    ['deep lists', () => ({ a: Array.from({ length: count / 60 }, () => deep(58)) })],
    ['a long text', () => ({ a: 'x'.repeat(bytes - 4000) })],
    ['a text of escapes', () => ({ a: '"'.repeat(bytes / 2 - 4000) })],
    ['a text of NULs', () => ({ a: '\0'.repeat(bytes / 6 - 4000) })],
    ['a text beyond ASCII', () => ({ a: 'é'.repeat(bytes / 2 - 4000) })],
  ]
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
const prose = (length: number) =>
  'It says "yes",\n or no. '.repeat(length / 23 + 1).slice(0, length)
const fill = (count: number, item: unknown) => Array<unknown>(Math.floor(count)).fill(item)
const sizeOf = (value: unknown) => (JSON.stringify(value) ?? '').length + 1

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + countValues(each), 1)
}
