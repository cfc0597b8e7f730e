import type Joi from 'joi'

/** A schema object of OpenAPI 3.0. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Describes joi schemas in OpenAPI's words. Those with a label become named components; of two
 * different schemas with one label, the later one gets a number after its name.
 */
export function openSchemas() {
  const components: Record<string, JsonSchema> = {}

  function describe(joi: Joi.Schema): JsonSchema {
    return schemaOf(joi.describe() as Described)
  }

  /** The members of an object, each by itself. */
  function describeMembers(joi: Joi.ObjectSchema | undefined): Member[] {
    const { keys = {} } = (joi?.describe() ?? {}) as Partial<Described>
    return Object.entries(keys).map(([name, each]) => ({
      name,
      required: each.flags?.presence === 'required',
      schema: schemaOf(each),
    }))
  }

  function schemaOf(described: Described): JsonSchema {
    const { flags = {}, allow = [] } = described
    const isNullable = allow.includes(null) || (flags.empty?.allow ?? []).includes(null)
    const schema = flags.label ? named(flags.label, described) : unnamed(described)
    if (!isNullable) return schema
    // A reference has no room for anything beside it.
    return '$ref' in schema ? { nullable: true, allOf: [schema] } : { ...schema, nullable: true }
  }

  function named(label: string, described: Described): JsonSchema {
    const schema = unnamed(described)
    const names = [label, ...Array.from({ length: 9 }, (_, i) => `${label}${i + 2}`)]
    const name = names.find((each) => isSame(components[each] ?? schema, schema)) as string
    components[name] ??= schema
    return { $ref: `#/components/schemas/${name}` }
  }

  function unnamed(described: Described): JsonSchema {
    const { flags = {}, allow = [], examples = [] } = described
    const schema = flags.only ? wordsOf(described) : { ...bodyOf(described), ...rulesOf(described) }
    const others = flags.only ? [] : allow.filter((each) => each !== null && each !== '')
    return {
      ...(others.length > 0 ? { anyOf: [schema, { enum: others }] } : schema),
      ...(flags.description && { description: flags.description }),
      ...(flags.default !== undefined && isJson(flags.default) && { default: flags.default }),
      ...(examples.length > 0 && { example: examples[0] }),
    }
  }

  function bodyOf(described: Described): JsonSchema {
    const { type, items = [], matches = [] } = described
    switch (type) {
      case 'object':
        return objectOf(described)
      case 'array':
        return { type, items: items.length === 1 ? schemaOf(items[0] as Described) : oneOf(items) }
      case 'alternatives':
        return oneOf(matches.flatMap(({ schema, then, otherwise }) => [schema, then, otherwise]))
      case 'string':
      case 'boolean':
        return { type }
      case 'number':
        return { type: has(described, 'integer') ? 'integer' : type }
      case 'date':
        return { type: 'string', format: 'date-time' }
      default:
        return {}
    }
  }

  function objectOf({ keys = {}, patterns = [], flags = {} }: Described): JsonSchema {
    const members = Object.entries(keys).filter(([, { flags }]) => flags?.presence !== 'forbidden')
    const required = members.filter(([, { flags }]) => flags?.presence === 'required')
    const [pattern] = patterns
    return {
      type: 'object',
      ...(members.length > 0 && {
        properties: Object.fromEntries(members.map(([name, each]) => [name, schemaOf(each)])),
      }),
      ...(required.length > 0 && { required: required.map(([name]) => name) }),
      ...(pattern && { additionalProperties: schemaOf(pattern.rule) }),
      ...(flags.unknown && { additionalProperties: true }),
    }
  }

  function oneOf(choices: readonly (Described | undefined)[]): JsonSchema {
    const schemas = choices.filter((each) => each !== undefined).map(schemaOf)
    return schemas.length > 0 ? { anyOf: schemas } : {}
  }

  return { describe, describeMembers, components: components as Readonly<typeof components> }
}

/** But for what they are said to be for. */
function isSame(a: JsonSchema, b: JsonSchema) {
  const text = (schema: JsonSchema) => JSON.stringify({ ...schema, description: '' })
  return text(a) === text(b)
}

/** A closed set of words; null among them where it is allowed. */
function wordsOf({ type, allow = [] }: Described): JsonSchema {
  return { ...(['string', 'number', 'boolean'].includes(type) && { type }), enum: allow }
}

function rulesOf(described: Described): JsonSchema {
  const rules = (described.rules ?? []).map(({ name, args }) => ruleOf(described.type, name, args))
  const isText = described.type === 'string' && !described.allow?.includes('')
  return Object.assign(isText ? { minLength: 1 } : {}, ...rules) as JsonSchema
}

function ruleOf(type: string, name: string, args: Arguments | undefined): JsonSchema {
  const limit = args?.limit
  const size = type === 'array' ? 'Items' : 'Length'
  switch (name) {
    case 'min':
      return typeof limit !== 'number'
        ? {}
        : { [type === 'number' ? 'minimum' : `min${size}`]: limit }
    case 'max':
      return typeof limit !== 'number'
        ? {}
        : { [type === 'number' ? 'maximum' : `max${size}`]: limit }
    case 'length':
      return { [`min${size}`]: limit, [`max${size}`]: limit }
    case 'greater':
      return { minimum: limit, exclusiveMinimum: true }
    case 'less':
      return { maximum: limit, exclusiveMaximum: true }
    case 'unique':
      return { uniqueItems: true }
    case 'guid':
      return { format: 'uuid' }
    case 'isoDate':
      return { format: 'date-time' }
    case 'uri':
      return { format: 'uri' }
    case 'email':
      return { format: 'email' }
    case 'hex':
      return { pattern: '^[0-9a-fA-F]*$' }
    case 'pattern':
      return patternOf(args?.regex ?? '')
    default:
      return {}
  }
}

/** @param regex as it is written in JavaScript; one with flags that change its meaning is left out */
function patternOf(regex: string): JsonSchema {
  const [, source, flags] = /^\/(.*)\/([a-z]*)$/s.exec(regex) ?? []
  return source === undefined || /[^u]/.test(flags ?? '') ? {} : { pattern: source }
}

function has({ rules = [] }: Described, rule: string) {
  return rules.some(({ name }) => name === rule)
}

function isJson(value: unknown) {
  return (
    typeof value !== 'function' &&
    !(typeof value === 'object' && value !== null && 'special' in value)
  )
}

export interface Member {
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** What joi tells of a schema, as far as it is used here. */
interface Described {
  readonly type: string
  readonly flags?: {
    readonly label?: string
    readonly description?: string
    readonly default?: unknown
    readonly presence?: string
    readonly only?: boolean
    readonly unknown?: boolean
    readonly empty?: Described
  }
  readonly allow?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly rules?: readonly { readonly name: string; readonly args?: Arguments }[]
  readonly keys?: Readonly<Record<string, Described>>
  readonly patterns?: readonly { readonly rule: Described }[]
  readonly items?: readonly Described[]
  readonly matches?: readonly {
    readonly schema?: Described
    readonly then?: Described
    readonly otherwise?: Described
  }[]
}

interface Arguments {
  readonly limit?: unknown
  readonly regex?: string
}
