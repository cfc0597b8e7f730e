import Joi from 'joi'
import { readTextReference, readUuidReference } from './rules/core/reference.ts'
import { readTimeOrDay } from './rules/core/time.ts'

/** The TypeScript type of the values a joi schema accepts. */
export type Valid<S> = S extends Joi.AnySchema<infer T> ? T : never

/**
 * An object schema whose TypeScript type follows from its members: `required` members must be
 * present, `optional` ones may be absent, from the value too unless they have a default; so are those
 * that are null, unless their schema gives null a meaning. Unknown members are accepted and left out of
 * the value.
 */
export function shape<R extends Members, O extends Members = Record<never, never>>(
  required: R,
  optional?: O,
) {
  const members: Members = {}
  for (const [name, schema] of Object.entries(required)) members[name] = schema.required()
  for (const [name, schema] of Object.entries(optional ?? {})) {
    members[name] = (takesNull(schema) ? schema : schema.empty(null)).optional()
  }
  return Joi.object(members).options({ stripUnknown: { objects: true } }) as Joi.ObjectSchema<
    Flat<
      { [K in keyof R]: Valid<R[K]> } & {
        [K in keyof O as O[K] extends Defaulted ? K : never]: Valid<O[K]>
      } & { [K in keyof O as O[K] extends Defaulted ? never : K]?: Valid<O[K]> | undefined }
    >
  >
}

/** The same, but unknown members are refused: to leave a filter out would select more than is meant. */
export function closed<T>(schema: Joi.ObjectSchema<T>) {
  return schema.options({ stripUnknown: false }).unknown(false)
}

/** A string schema that accepts exactly the given words, of which null may be one. */
export function oneOf<const V extends string | null>(...words: readonly V[]) {
  return Joi.string<V>().valid(...words)
}

/** A string schema that accepts the given words, separated by commas. */
export function someOf(...words: readonly string[]) {
  const word = `(${words.join('|')})`
  return Joi.string<string>().pattern(
    new RegExp(`^${word}(,${word})*$`),
    `some of ${words.join(', ')}, separated by commas`,
  )
}

/** A list schema. Its `max` is looked at before its items: of a list that is too long none is. */
export function listOf<S extends Joi.Schema>(item: S): Joi.ArraySchema<Valid<S>[]> {
  return lengthFirst.array().items(item)
}

/**
 * A text of 1 to `max` characters (256 unless told) without NUL and lone surrogates, which Postgres
 * cannot hold.
 */
export function text(max = 256) {
  return Joi.string()
    .max(max)
    .pattern(/^[^\0\p{Cs}]*$/u, 'text without NUL and lone surrogates')
}

/** A text of any length and content, of our own making or checked before. */
export const anyText = () => Joi.string().allow('')

/** A time of our own making or checked before; the value is a `Date`. */
export const anyTime = () => Joi.date().iso()

/** An id we made: a UUID. */
export const uuid = () => Joi.string().guid()

/** The id by which a request names something we made, in any form. */
export const uuidReference = () => reference(readUuidReference)

/** The id or name by which a request names something whose id or name is a text, in any form. */
export const textReference = () => reference(readTextReference)

/** Written inside a shape, `Joi.boolean()` would take the type of any schema from its place. */
export const bool = () => Joi.boolean()

export const int = (min: number, max: number) => Joi.number().integer().min(min).max(max)

/** How many of something there are. */
export const count = () => int(0, Number.MAX_SAFE_INTEGER)

/** An RFC 3339 time, or a day, which is its beginning in UTC (`readTimeOrDay`); the value is a `Date`. */
export const time = () => (readingTimes.date() as Joi.DateSchema).iso()

/** An object whose members may have any name and are all of one kind. */
export function recordOf<S extends Joi.Schema>(member: S) {
  return Joi.object<Record<string, Valid<S>>>().pattern(/^/, member)
}

/** A JSON object with free-form members. */
export const freeForm = () => Joi.object<Record<string, unknown>>().unknown(true)

function takesNull(schema: Joi.Schema) {
  return schema.validate(null).error === undefined
}

/** A text of any length, also none, which joi's strings admit only with an explicit `min`. */
function reference(read: (id: string) => string) {
  return Joi.string().min(0).custom(read)
}

const lengthFirst = Joi.extend((joi: Joi.Root) => ({
  type: 'array',
  base: joi.array(),
  prepare(value: unknown, { schema, error }: Joi.CustomHelpers) {
    const limit: unknown = schema.$_getRule('max')?.args?.['limit']
    if (!Array.isArray(value) || typeof limit !== 'number' || value.length <= limit)
      return undefined
    return { value, errors: [error('array.max', { limit, value })] }
  },
})) as Joi.Root

/** joi reads times without an offset in the zone of the process, and the 31st of February as a day of March. */
const readingTimes = Joi.extend((joi: Joi.Root) => ({
  type: 'date',
  base: joi.date(),
  prepare(value: unknown, { error }: Joi.CustomHelpers) {
    if (typeof value !== 'string') return undefined
    const time = readTimeOrDay(value)
    return time ? { value: time } : { value, errors: [error('date.format', { format: 'iso' })] }
  },
})) as Joi.Root

type Members = Record<string, Joi.Schema>
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** A schema with a default. joi's own types do not tell it from one without. */
interface Defaulted {
  readonly [DEFAULTED]: true
}
declare const DEFAULTED: unique symbol

declare module 'joi' {
  interface AnySchema<TSchema> {
    default(value: unknown): this & Defaulted
  }
}
