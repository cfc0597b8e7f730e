import Joi from 'joi'
import { bareHash } from '../jobs/rules/traces/trace.ts'
import { anyText, int, shape, text, textReference, uuidReference } from '../jobs/shape.ts'
import { ALL_FAULTS } from './errors.ts'
import type { Access } from './principal.ts'

/** Schemas shared by many operations. A label makes a schema a named one of the OpenAPI document. */

export const errorBody = Joi.object({
  detail: Joi.string().required().description('A sentence for people'),
  code: Joi.string().required().description('A word for programs'),
  request_id: Joi.string().required(),
}).label('Error')

/** Stands for an id in the examples of request bodies. */
export const EXAMPLE_ID = '01a20080-6a47-7000-8000-4f1d2a9c3b5e'

/** 429; the header X-Quota-Exceeded names the limit. */
const limitBody = Joi.object({
  detail: Joi.string().required(),
  code: Joi.string()
    .required()
    .description('Such as rate_limited, too_many_at_once, too_many_jobs'),
  request_id: Joi.string().required(),
  resets_in_seconds: Joi.number().integer().required().description('As Retry-After'),
}).label('LimitError')

/** 402; the header X-Quota-Exceeded names the metric. */
export const quotaBody = Joi.object({
  detail: Joi.string().required(),
  code: Joi.string().valid('quota_exceeded').required(),
  request_id: Joi.string().required(),
  resets_in_seconds: Joi.number().integer().required().description('Until the next month begins'),
}).label('QuotaError')

const resourceConflict = Joi.object({
  detail: Joi.object({
    message: Joi.string().required(),
    resource: Joi.object({
      type: Joi.string().required(),
      id: Joi.string().required(),
      name: Joi.string().required(),
      version: Joi.number().integer(),
      version_id: Joi.string(),
    })
      .required()
      .description('What is in the way')
      .label('ConflictingResource'),
  })
    .required()
    .label('ConflictDetail'),
  code: Joi.string().valid('conflict').required(),
  request_id: Joi.string().required(),
}).label('Conflict')

/** 409 of an operation that tells what is in the way. Under an idempotency key there are other conflicts. */
export const conflictBody = Joi.alternatives(resourceConflict, errorBody)

const validationErrorBody = Joi.object({
  detail: Joi.string().required(),
  code: Joi.string().valid('validation_error').required(),
  request_id: Joi.string().required(),
  details: Joi.object({
    errors: Joi.array()
      .items(
        Joi.object({ field: Joi.string().required(), message: Joi.string().required() }).label(
          'FieldError',
        ),
      )
      .required(),
  })
    .required()
    .label('ValidationErrorDetails'),
}).label('ValidationError')

/** 422 of an operation that has further codes for it. */
export const unprocessableBody = Joi.alternatives(validationErrorBody, errorBody)

/** The error answers that every operation of an access class can give. */
export function errorAnswers(access: Access): Record<number, Joi.Schema> {
  return {
    400: errorBody,
    ...(access !== 'public' && access !== 'open' && { 401: errorBody, 403: errorBody }),
    422: validationErrorBody,
    ...(access !== 'open' && { 429: limitBody }),
    500: errorBody,
    503: errorBody,
  }
}

/** Members of every list answer beside the list itself. */
export const listMembers = {
  total: Joi.number().integer().required().description('Exact up to 10,000'),
  total_is_capped: Joi.boolean().description('There are more than `total`; else absent'),
  limit: Joi.number().integer().required(),
  offset: Joi.number().integer().required(),
  next_cursor: Joi.string().allow(null).required().description('Give it as `cursor` to read on'),
}

const limit = int(1, 500).default(50)
const cursor = text(512).description('next_cursor of the answer before')

/** The same of a list of so many rows that they are not always counted. */
export const longListMembers = {
  ...listMembers,
  total: Joi.number()
    .integer()
    .allow(null)
    .required()
    .description('Exact up to 10,000; null when counting takes longer than 50 ms'),
  total_is_capped: Joi.boolean().description('There are more than `total`, or it is null'),
}

/** Query parameters of a list. */
export const pageQuery = {
  limit,
  offset: int(0, 10_000).default(0).description('For shallow paging; read deep by cursor'),
  cursor,
}

/** Query parameters of a list that is read by cursor only. */
export const cursorQuery = { limit, cursor }

/** The members of the answer of a short list, beside the list. Its query parameters are `pageQuery`. */
export const shortListMembers = {
  total: listMembers.total,
  limit: listMembers.limit,
  offset: listMembers.offset,
  next_cursor: listMembers.next_cursor,
}

/** Query parameters that name an agent, or one of its versions. */
export const agentQuery = {
  agent_name: textReference(),
  manifest_id: uuidReference(),
  manifest_hash: textReference().custom(bareHash).description('With `sha256:` in front or without'),
}

export const projectField = textReference().description('Project id or name')
/** The query of an operation of one project, which a write may name in its body instead. */
export const projectQuery = shape({}, { project: projectField })

/** A list in a query, its items separated by commas. The value is the list. */
export function commaSeparated(list: Joi.ArraySchema<string[]>) {
  return Joi.string<string[]>()
    .min(0)
    .custom((words: string, { message }) => {
      const items = words.split(',').map((item) => item.trim())
      const { value, error } = list.validate(
        items.filter((item) => item !== ''),
        ALL_FAULTS,
      )
      return error ? message({ custom: '{{#label}} {{#fault}}' }, { fault: error.message }) : value
    })
}

/** Header of an operation that is long work. */
export const waitHeaders = shape(
  {},
  {
    prefer: anyText().description(
      '`wait=` and seconds, at most 55, or `respond-async`: how long the answer may take',
    ),
  },
)

/** An answer that is bytes, of one of these media types. */
export const fileOf = (...types: string[]) => Joi.any().meta({ types })

/** An answer without a body. */
export const noBody = Joi.any().description('No body')
export const times = Joi.string().isoDate()
/** A member of answers that is null where there is nothing to tell. */
export const nullable = <S extends Joi.Schema>(schema: S) => schema.allow(null).required()
