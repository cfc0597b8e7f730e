import type { JsonSchema } from './contract.ts'

/** One point in which a value does not fit its schema. */
export interface SchemaFault {
  /** JSON pointer; of a missing or an unexpected member, its own. */
  readonly path: string
  readonly kind: 'missing_required' | 'unexpected_param' | 'type' | 'value'
  /** The keyword of the schema that refuses. */
  readonly keyword: string
}

/** The faults of a value, none when it fits; undefined when that cannot be decided (see `Compile`). */
export type Validate = (value: unknown) => readonly SchemaFault[] | undefined

/**
 * Makes a validator of a schema. Rules never compile: schemas are hostile, and whoever passes this in
 * answers for what compiling and validating may cost. A schema that cannot be compiled, or that takes
 * too long, has a validator that cannot decide.
 */
export type Compile = (schema: JsonSchema) => Validate

/** Faults as one line, the same for the same faults whatever their order. */
export function describeFaults(faults: readonly SchemaFault[]): string {
  const texts = [...new Set(faults.map(({ path, keyword }) => `${path || '/'} ${keyword}`))].sort()
  const more = texts.length > MAX_TEXTS ? `; and ${texts.length - MAX_TEXTS} more` : ''
  return texts.slice(0, MAX_TEXTS).join('; ') + more
}

const MAX_TEXTS = 5
