import Joi from 'joi'
import { SKILL_RATER_CONFIG } from '../../jobs/rules/skills/skill-rater.ts'
import { listOf } from '../../jobs/shape.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { noBody } from '../fields.ts'

const HEADERS = {
  ETag: `"${SKILL_RATER_CONFIG.prompt_sha256.slice(0, 22)}-${SKILL_RATER_CONFIG.version}"`,
  'Cache-Control': 'public, max-age=3600',
}

export const showSkillRaterConfig = endpoint('GET', '/traces/skill-rater/config', {
  summary: 'Read the prompt with which skills are rated, and what a rating has to carry',
  access: 'public',
  answers: {
    200: Joi.object({
      version: Joi.number().integer().required(),
      prompt: Joi.string().required(),
      prompt_sha256: Joi.string().required(),
      scale: Joi.object({ min: Joi.number().required(), max: Joi.number().required() })
        .required()
        .label('RatingScale'),
      output_schema: Joi.object().unknown(true).required().description('JSON Schema of a rating'),
      provenance: Joi.object({ fields: listOf(Joi.string()).required() })
        .required()
        .description(
          'What the metadata of a rating names, a score `skill_rating`, for it to count. A rating of 1 to 5 is sent as the value (score - 1) / 4. `trace_hash` is the `content_hash` of the trace',
        )
        .label('RatingProvenance'),
    }).label('SkillRaterConfig'),
    304: noBody,
  },
  async handle({ request }) {
    if (request.headers['if-none-match'] === HEADERS.ETag) return new Answer(304, null, HEADERS)
    return new Answer(200, SKILL_RATER_CONFIG, HEADERS)
  },
})
