import { Ajv } from 'ajv'
import fc from './property.ts'

/** The OpenAPI document, as far as the tests look into it. */
export interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Partial<Content>>>
  }
}

export interface Described {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Partial<Content> & { readonly $ref?: string }>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly nullable?: boolean
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly allOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly example?: unknown
}

/** Values that a documented schema allows; its optional members are there by chance. */
export function valuesOf(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  if (schema.nullable) {
    const { nullable: _, ...rest } = schema
    return fc.option(valuesOf(document, rest), { nil: null, freq: 5 })
  }
  if (schema.$ref) return valuesOf(document, resolve(document, schema.$ref))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.allOf
  if (choices) return fc.oneof(...choices.map((choice) => valuesOf(document, choice)))
  switch (schema.type) {
    case 'string':
      return stringsOf(schema)
    case 'integer':
      return fc.integer(boundsOf(schema, 1_000_000))
    case 'number':
      return fc.double({ ...boundsOf(schema, 1000), noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(schema.items ? valuesOf(document, schema.items) : fc.jsonValue(), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, Math.max(4, schema.minItems ?? 0)),
      })
    case 'object':
      return objectsOf(document, schema)
    case undefined:
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** A value with nothing in it but what is required. */
export function leastValue(document: Document, schema: Schema): unknown {
  return fc.sample(valuesOf(document, withoutOptional(document, schema)), {
    seed: 1,
    numRuns: 1,
  })[0]
}

/** Values of a schema, some of them spoilt in one place. */
export function nearValuesOf(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  const valid = valuesOf(document, schema)
  const spoilt = fc
    .tuple(valid, fc.nat(), fc.constantFrom(...JUNK))
    .map(([value, place, junk]) => spoil(value, place, junk))
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 3, arbitrary: spoilt },
    fc.constantFrom(...JUNK),
  )
}

/** What the document says of an answer; undefined when it says nothing. */
export function answerOf(document: Document, { responses }: Described, status: number) {
  const found = responses[status]
  const name = found?.$ref?.slice('#/components/responses/'.length)
  return name === undefined ? found : document.components.responses[name]
}

/** Says what is wrong with a value, in the words of an independent validator; '' when nothing is. */
export function openChecker(document: Document) {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'doc', components: asJsonSchema(document.components) as object })
  // The validator compiles each object once.
  const converted = new WeakMap<Schema, object>()
  return (schema: Schema, value: unknown) => {
    const local = converted.get(schema) ?? (asJsonSchema(schema) as object)
    converted.set(schema, local)
    return ajv.validate(local, value) ? '' : ajv.errorsText()
  }
}

/** What clients send by mistake or by malice. */
export const JUNK: readonly unknown[] = [
  null,
  '',
  ' ',
  'a\0b',
  'a\ud800',
  '../../etc/passwd',
  "'; drop table traces; --",
  '%',
  'x'.repeat(5000),
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  true,
  [],
  [null],
  [[[[]]]],
  {},
  { constructor: { prototype: {} } },
  'garbage',
  '9999-99-99',
  '0000-01-01T00:00:00Z',
]

function objectsOf(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  if (!schema.properties)
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
  const members = Object.entries(schema.properties).map(
    ([name, member]) => [name, valuesOf(document, member)] as const,
  )
  return fc.record(Object.fromEntries(members), {
    requiredKeys: [...(schema.required ?? [])] as never[],
  })
}

function stringsOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'uuid') return fc.uuid()
  if (schema.format === 'uri') return fc.constant('https://receiver.example/hook')
  if (schema.format === 'email') return fc.constant('someone@example.com')
  if (schema.format === 'date-time') {
    return fc
      .date({ min: new Date('2000-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString())
  }
  const minLength = schema.minLength ?? 1
  const maxLength = Math.min(schema.maxLength ?? 24, Math.max(24, minLength))
  const pattern = schema.pattern ? new RegExp(schema.pattern, 'u') : /^/
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength && pattern.test(text)
  // fast-check cannot make texts of character properties; of those, any printable text will do.
  if (schema.pattern && !/\\p\{|\[\^\\0\]/.test(schema.pattern)) {
    return fc.stringMatching(pattern, { maxLength }).filter(fits)
  }
  return fc.oneof(
    fc.string({ minLength, maxLength }).filter(fits),
    fc.string({ minLength, maxLength, unit: 'grapheme' }).filter(fits),
  )
}

function boundsOf({ minimum, maximum }: Schema, reach: number) {
  const min = minimum ?? -reach
  return { min, max: Math.max(min, maximum ?? reach) }
}

function withoutOptional(document: Document, schema: Schema): Schema {
  const found = schema.$ref ? resolve(document, schema.$ref) : schema
  const [first] = found.anyOf ?? found.allOf ?? []
  if (first) return withoutOptional(document, first)
  if (found.items)
    return {
      ...found,
      items: withoutOptional(document, found.items),
      maxItems: Math.max(1, found.minItems ?? 0),
      minItems: Math.max(found.minItems ?? 0, 0),
    }
  if (!found.properties) return found
  const required = Object.entries(found.properties).filter(([name]) =>
    found.required?.includes(name),
  )
  return {
    ...found,
    properties: Object.fromEntries(
      required.map(([name, member]) => [name, withoutOptional(document, member)]),
    ),
  }
}

/** Puts junk into one of a value's places, counted in reading order. */
function spoil(value: unknown, place: number, junk: unknown): unknown {
  if (typeof value !== 'object' || value === null) return junk
  const names = Object.keys(value)
  const name = names[place % (names.length + 1)]
  if (name === undefined) return junk
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
  copy[name] = place % 3 === 0 ? junk : spoil(copy[name], Math.floor(place / 3), junk)
  return copy
}

export function resolve(document: Document, ref: string): Schema {
  const found = document.components.schemas[ref.slice('#/components/schemas/'.length)]
  if (!found) throw new Error(`The document has no ${ref}`)
  return found
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has a type for null. */
function asJsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonSchema)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, ...rest } = value as Record<string, unknown>
  const plain = Object.fromEntries(
    Object.entries(rest).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string' ? `doc${member}` : asJsonSchema(member),
    ]),
  )
  // What the document does not name may not be there, unless it says that anything may.
  const closed = 'properties' in plain ? { additionalProperties: false, ...plain } : plain
  return nullable === true ? { anyOf: [{ type: 'null' }, closed] } : closed
}
