import Joi from 'joi'
import { anyText, count, int, listOf, shape } from '../../../shape.ts'

/** Shapes that members of several kinds have. Values are checked as they are written: nothing is converted. */

/** Null has a meaning of its own, and must be told. */
export const orNull = <S extends Joi.Schema>(schema: S) => schema.allow(null)

export const share = () => Joi.number().min(0).max(1)

/** The number of a version. */
export const versionNumber = () => int(1, MAX_VERSION_NUMBER)

/** RFC 3339 in UTC with milliseconds. */
export const timeText = () =>
  Joi.string().custom((text: string, { message }) =>
    isTime(text) ? text : message({ custom: 'must be an RFC 3339 time in UTC' }),
  )

/** A word for programs and a sentence for people. */
export const warnings = () => listOf(shape({ code: anyText(), message: anyText() }))

/** Counts by names that `name` matches. */
export const countsBy = (name: RegExp) =>
  Joi.object<Record<string, number>>().pattern(name, count()).unknown(false)

export function isTime(value: unknown): boolean {
  if (typeof value !== 'string' || !TIME.test(value)) return false
  const time = new Date(value)
  // A day that a month has not is another day of the next one.
  return !Number.isNaN(time.getTime()) && time.toISOString() === value
}

/** What its column can hold. */
export const MAX_VERSION_NUMBER = 2 ** 31 - 1
/** The database knows no year 0. */
const TIME = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
