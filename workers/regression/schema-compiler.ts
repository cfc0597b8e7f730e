import { Ajv } from 'ajv'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../jobs/rules/contract.ts'
import { isObject } from '../../jobs/rules/reader.ts'
import type { Compile, SchemaFault } from '../../jobs/rules/schema-check.ts'

/**
 * Makes validators of schemas that tenants wrote. Nothing is fetched, no schema sees another one, and
 * formats are not checked. What it may cost in time and memory is bounded by who runs it: only
 * `examine-thread.ts` does, because a pattern or a recursion can take for ever.
 */
export function schemaCompiler(): Compile {
  // One for each compiler: ajv keeps what it has compiled for as long as it lives itself.
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
    return ajv.compile(anonymous(schema) as JsonSchema)
  } catch {
    return undefined
  }
}

/** Without names for itself or its parts, which ajv would remember across schemas. */
function anonymous(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => anonymous(each))
  if (!isObject(value) || DATA.has(key)) return value
  const isMap = MAPS.has(key)
  const members = Object.entries(value).filter(([name]) => isMap || !NAMES.has(name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, anonymous(member, isMap ? '' : name)]),
  )
}

function isDraft07({ $schema }: JsonSchema) {
  return typeof $schema === 'string' && /draft-0[467]/.test($schema)
}

function faultsOf(errors: readonly ErrorObject[]): SchemaFault[] {
  return errors.slice(0, MAX_FAULTS).map(({ instancePath, keyword, params }) => {
    const { missingProperty, additionalProperty, unevaluatedProperty } = params as Params
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
/** Members that hold schemas by names of the tenant's. */
const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
/** Members that hold no schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples'])
const MAX_FAULTS = 100

interface Params {
  missingProperty?: string
  additionalProperty?: string
  unevaluatedProperty?: string
}
