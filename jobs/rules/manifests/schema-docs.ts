import { canonicalJson } from '../core/canonical-json.ts'
import { isObject } from '../core/reader.ts'
import type { JsonSchema } from './contract.ts'

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

const DOCS = new Set(['description', 'title', 'examples', '$comment'])
/** Members whose value is no schema. */
const PLAIN = new Set(['enum', 'const', 'default', 'required'])
/** Members whose value holds schemas, or lists of names, under names that the tenant chose. */
export const NAMED_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
])
