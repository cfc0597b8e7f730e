import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { promptFragment } from '../../jobs/rules/skills/prompt-fragment.ts'
import { listOf } from '../../jobs/shape.ts'
import type { OfferedSkillRow } from '../../sql/skills/offered-skills.ts'
import { nullable } from '../fields.ts'

/** Skills that an agent is offered, as clients see them. */
export const offerBody = Joi.object({
  skills: listOf(
    Joi.object({
      skill_id: Joi.string().guid().required(),
      name: Joi.string().required(),
      description: Joi.string().required(),
      category: nullable(Joi.string()),
      version_number: Joi.number().integer().required().description('The newest'),
      url_slug: nullable(Joi.string()).description(
        'Of a public skill of another organization; null for an own one',
      ),
      is_assigned: Joi.boolean().required(),
      score: Joi.number().required().description('How well it fits the query; 0 without one'),
      attachments: listOf(
        Joi.object({ file_path: Joi.string().required() }).label('OfferedAttachment'),
      ).description('Where asked for'),
    }).label('OfferedSkill'),
  ).required(),
  prompt_fragment: Joi.string()
    .allow('')
    .required()
    .description('Names and descriptions as a block of instructions for a model'),
  strategy: Joi.string().valid('menu', 'full_text').required(),
  routing_id: Joi.string().guid().required().description('Of this answer; stored nowhere'),
}).label('SkillOffer')

export function viewOffer(
  rows: readonly OfferedSkillRow[],
  strategy: 'menu' | 'full_text',
  withAttachments = false,
) {
  return {
    skills: rows.map(({ files, ...skill }) => ({
      ...skill,
      ...(withAttachments && { attachments: files.map((file_path) => ({ file_path })) }),
    })),
    prompt_fragment: promptFragment(rows),
    strategy,
    routing_id: randomUUIDv7(),
  }
}
