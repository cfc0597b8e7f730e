import { Ajv } from 'ajv'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../jobs/rules/manifests/contract.ts'
import { isObject } from '../../jobs/rules/core/reader.ts'
import { NAMED_SCHEMAS } from '../../jobs/rules/manifests/schema-docs.ts'
import type { Compile, SchemaFault } from '../../jobs/rules/manifests/schema-check.ts'

/**
 * Makes validators of schemas that tenants wrote. Nothing is fetched, no schema sees another one, and
 * formats are not checked. Time and memory are not bounded here, and a pattern or a recursion can take
 * for ever: so only `examine-thread.ts` runs it, in a thread that can be ended.
 */
export function schemaCompiler(): Compile {
  // Each compiler has its own, because an ajv keeps what it has compiled for as long as it lives.
  let current: Ajv2020 | undefined
  let draft07: Ajv | undefined
  return (schema) => {
    const ajv = isDraft07(schema)
      ? (draft07 ??= new Ajv(OPTIONS))
      : (current ??= new Ajv2020(OPTIONS))
    const validate = compileWith(ajv, schema)
    return (value) => {
      try {
        if (!validate) return undefined
        return validate(value) ? FITS : faultsOf(validate.errors ?? [])
      } catch {
        // A schema that refers to itself without end overflows the stack.
        return undefined
      }
    }
  }
}

function compileWith(ajv: Ajv, schema: JsonSchema): ValidateFunction | undefined {
  try {
    return ajv.compile(anonymous(schema))
  } catch {
    return undefined
  }
}

/** The schema without names of itself and its parts, which ajv would remember across schemas. */
function anonymous(schema: JsonSchema, key = ''): JsonSchema {
  const isMap = NAMED_SCHEMAS.has(key)
  const members = Object.entries(schema).filter(([name]) => isMap || !NAMES.has(name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, anonymousPart(member, isMap ? '' : name)]),
  )
}

function anonymousPart(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => anonymousPart(each))
  return isObject(value) && !DATA.has(key) ? anonymous(value, key) : value
}

function isDraft07({ $schema }: JsonSchema) {
  return typeof $schema === 'string' && /draft-0[467]/.test($schema)
}

function faultsOf(errors: readonly ErrorObject[]): SchemaFault[] {
  return errors.slice(0, MAX_FAULTS).map(({ instancePath, keyword, params }) => {
    const { missingProperty, additionalProperty, unevaluatedProperty }: Params = params
    const extra = additionalProperty ?? unevaluatedProperty
    if (missingProperty !== undefined) {
      return { path: `${instancePath}/${missingProperty}`, kind: 'missing_required', keyword }
    }
    if (extra !== undefined) {
      return { path: `${instancePath}/${extra}`, kind: 'unexpected_param', keyword }
    }
    return { path: instancePath, kind: keyword === 'type' ? 'type' : 'value', keyword }
  })
}

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  addUsedSchema: false,
  validateFormats: false,
  logger: false,
}
const FITS: readonly SchemaFault[] = []
const NAMES = new Set(['$id', 'id', '$schema', '$vocabulary'])
/** Members whose value holds no schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples'])
const MAX_FAULTS = 100

interface Params {
  missingProperty?: string
  additionalProperty?: string
  unevaluatedProperty?: string
}
