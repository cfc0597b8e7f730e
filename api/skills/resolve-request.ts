import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import { chooseFormat } from '../../jobs/rules/skills/render-skill.ts'
import { bareHash } from '../../jobs/rules/traces/trace.ts'
import { int, listOf, shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Sql } from '../../sql/core/db.ts'
import type { SkillReader } from '../../sql/skills/candidates.ts'
import { ApiError } from '../errors.ts'
import { EXAMPLE_ID } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { resolveItems } from './resolution.ts'
import { viewFailed, viewResolved } from './resolved-item.ts'

/** The body of a request to resolve skills. */
export function resolveBody(label: string, { maxItems }: { maxItems: number }) {
  return shape(
    { items: listOf(item).max(maxItems).description('One answer each, in this order') },
    {
      taken: Joi.object<Record<string, string | null>>()
        .pattern(Joi.string().min(0).max(255), uuidReference().allow(null))
        .max(1000)
        .options({ stripUnknown: false })
        .default({})
        .description(
          'The folders of the project by name: the id of the skill in it, or null. A skill stays in its folder; new ones go around those taken',
        ),
      formats: listOf(int(1, 1000))
        .max(8)
        .default([1])
        .description(
          'Formats of SKILL.md that the client reads; the highest that is rendered is used',
        ),
      channel: text(32).description('Who resolves, such as cli, sdk, api, mcp, ci; counted only'),
      purpose: text(32).description('Why, such as add, update, check, list; counted only'),
    },
  )
    .label(label)
    .example({
      items: [{ ref: 'acme/pdf-forms' }],
      taken: { 'pdf-forms': EXAMPLE_ID, notes: null },
    })
}

/**
 * Resolves the items of a request, and has it counted.
 * @throws ApiError 422 `format_unsupported`, before any look-up
 */
export async function answerResolve(
  sql: Sql,
  reader: SkillReader | null,
  { items, taken, formats, channel, purpose }: ResolveRequest,
  request: Request,
) {
  const format = chooseFormat(formats)
  if (format === undefined) {
    throw new ApiError(422, 'format_unsupported', 'None of the formats is rendered; 1 is')
  }
  request.app.resolve = { channel, purpose }
  const results = await resolveItems(sql, reader, items, taken)
  const pause = openTurns()
  const views: object[] = []
  for (const result of results) {
    views.push(
      'error' in result ? viewFailed(result) : viewResolved(result, format, reader === null),
    )
    // Rendering hashes up to 25 MiB.
    await pause()
  }
  return { items: views }
}

const item = shape(
  {},
  {
    ref: textReference()
      .min(1)
      .description('An id, a name, a registry name, a url_slug, or a folder of `taken`'),
    skill_id: textReference().min(1),
    version: Joi.alternatives<string | number>(Joi.number(), textReference()).description(
      'latest or a number from 1; without it what the organization’s agents are held to, else the latest',
    ),
    version_id: uuidReference(),
    content_hash: textReference()
      .custom(bareHash)
      .description('SHA-256 of the body that the client expects'),
  },
)
  .or('ref', 'skill_id')
  .label('ResolveItem')

type ResolveRequest = Valid<ReturnType<typeof resolveBody>>

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Who resolved skills, and why, as the client says. */
    resolve?: { channel: string | undefined; purpose: string | undefined }
  }
}
