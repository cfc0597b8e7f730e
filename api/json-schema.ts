import type Joi from 'joi'
import { describedOf } from './joi-description.ts'
import type { Described } from './joi-description.ts'
import { has, rulesOf, wordsOf } from './json-schema-rules.ts'
import type { JsonSchema } from './json-schema-rules.ts'

/**
 * Describes joi schemas as OpenAPI does. Schemas with a label become named components; when two different
 * schemas have one label, the name of the second one gets a number.
 */
export class Schemas {
  /** By name. */
  readonly components: Record<string, JsonSchema> = {}

  describe(joi: Joi.Schema): JsonSchema {
    return this.#schemaOf(describedOf(joi))
  }

  /** The members of an object, each by itself. None is nullable: parameters are texts. */
  describeMembers(joi: Joi.Schema | undefined): Member[] {
    const keys = joi ? (describedOf(joi).keys ?? {}) : {}
    return Object.entries(keys).map(([name, each]) => {
      const { nullable: _, ...schema } = this.#schemaOf(each)
      return { name, required: each.flags?.presence === 'required', schema }
    })
  }

  #schemaOf(described: Described): JsonSchema {
    const { flags = {}, allow = [] } = described
    const isNullable = allow.includes(null) || (flags.empty?.allow ?? []).includes(null)
    const schema = this.#unnamed(described)
    const shown = flags.label ? this.#refer(flags.label, schema) : schema
    if (!isNullable) return shown
    // A reference must not have members beside it.
    return '$ref' in shown ? { nullable: true, allOf: [shown] } : { ...shown, nullable: true }
  }

  /** A reference to the component of the label; adds a component that is new. */
  #refer(label: string, schema: JsonSchema): JsonSchema {
    for (let number = 1; ; number++) {
      const name = number === 1 ? label : `${label}${number}`
      const known = (this.components[name] ??= schema)
      if (isSame(known, schema)) return { $ref: `#/components/schemas/${name}` }
    }
  }

  #unnamed(described: Described): JsonSchema {
    const { flags = {}, allow = [], examples = [] } = described
    const schema = flags.only
      ? wordsOf(described)
      : { ...this.#bodyOf(described), ...rulesOf(described) }
    const others = flags.only ? [] : allow.filter((each) => each !== null && each !== '')
    return {
      ...(others.length > 0 ? { anyOf: [schema, { enum: others }] } : schema),
      ...(flags.description && { description: flags.description }),
      ...(flags.default !== undefined && isJson(flags.default) && { default: flags.default }),
      ...(examples.length > 0 && { example: examples[0] }),
    }
  }

  #bodyOf(described: Described): JsonSchema {
    const { type, items = [], matches = [] } = described
    const [item, ...others] = items
    switch (type) {
      case 'object':
        return this.#objectOf(described)
      case 'array':
        return {
          type,
          items: item && others.length === 0 ? this.#schemaOf(item) : this.#anyOf(items),
        }
      case 'alternatives':
        return this.#anyOf(matches.flatMap((each) => [each.schema, each.then, each.otherwise]))
      case 'string':
      case 'boolean':
        return { type }
      case 'binary':
        return { type: 'string', format: 'binary' }
      case 'number':
        return { type: has(described, 'integer') ? 'integer' : type }
      case 'date':
        return { type: 'string', format: 'date-time' }
      default:
        return {}
    }
  }

  #objectOf({ keys = {}, patterns = [], flags = {} }: Described): JsonSchema {
    const members = Object.entries(keys).filter(([, { flags }]) => flags?.presence !== 'forbidden')
    const required = members.filter(([, { flags }]) => flags?.presence === 'required')
    const properties = members.map(([name, each]) => [name, this.#schemaOf(each)])
    const [pattern] = patterns
    return {
      type: 'object',
      ...(members.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.length > 0 && { required: required.map(([name]) => name) }),
      ...(pattern && { additionalProperties: this.#schemaOf(pattern.rule) }),
      ...(flags.unknown && { additionalProperties: true }),
    }
  }

  #anyOf(choices: readonly (Described | undefined)[]): JsonSchema {
    const given = choices.filter((each) => each !== undefined)
    return given.length > 0 ? { anyOf: given.map((each) => this.#schemaOf(each)) } : {}
  }
}

/** Whether two schemas differ in nothing but their descriptions. */
function isSame(a: JsonSchema, b: JsonSchema) {
  const text = (schema: JsonSchema) => JSON.stringify({ ...schema, description: '' })
  return text(a) === text(b)
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
