import { faultOfPattern } from '../core/pattern.ts'
import { listOf, shape, text } from '../../shape.ts'
import type Joi from 'joi'

export const MAX_PATTERNS = 20
export const MAX_KEPT = 1000

/** A pattern of RE2 that matches no empty text. */
export const patternText = () => text(500).min(1).custom(checkPattern)

/** The patterns of a project. */
export const patterns = listOf(
  shape({ name: text(64).min(1), pattern: patternText() }).label('RedactionPatternRequest'),
)
  .max(MAX_PATTERNS)
  .unique('name')

/** The values that a project has left as they are. */
export const keep = listOf(text().min(1)).max(MAX_KEPT)

function checkPattern(source: string, { message }: Joi.CustomHelpers) {
  const fault = faultOfPattern(source, { mayBeEmpty: false })
  return fault === undefined ? source : message({ custom: '{#label} {#fault}' }, { fault })
}
