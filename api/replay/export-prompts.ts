import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import { int, listOf, shape } from '../../jobs/shape.ts'
import { listExported, openExported } from '../../sql/replay/exports.ts'
import type { ExportedTrace } from '../../sql/replay/exports.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, times } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { jsonLines, jsonList } from '../json-lines.ts'
import { readableProjects } from '../projects.ts'
import { exportQuery } from './exports.ts'

export const exportPrompts = endpoint('GET', '/replay/export', {
  summary: 'Download what users asked in traces of a verdict, newest trace first',
  description:
    'For runners of your own that need no batch. Texts are given in full. `replay_context` tells what changed between the version a trace was recorded under and the active one.',
  access: 'key',
  query: shape({}, { ...exportQuery, limit: int(1, 5000).default(1000) }),
  answers: {
    200: Joi.object({
      prompts: listOf(
        Joi.object({
          trace_id: Joi.string().required(),
          project_id: Joi.string().required(),
          user_input: nullable(Joi.string()),
          original_output: nullable(Joi.string()),
          verdict: Joi.string()
            .valid(...VERDICTS)
            .required(),
          agent_name: Joi.string().required(),
          manifest_id: nullable(Joi.string()),
          session_id: nullable(Joi.string()),
          created_at: times.required(),
          replay_context: Joi.object({
            changed_surfaces: listOf(
              Joi.object({
                name: Joi.string().required().description('Of the component'),
                reason: Joi.string().required().description('The code of a compatibility reason'),
              }).label('ReplaySurface'),
            ).required(),
          })
            .required()
            .label('ReplayContext'),
        }).label('ReplayPrompt'),
      ).required(),
    })
      .label('ReplayPromptList')
      .description('With `format=jsonl`, JSON Lines of type application/x-ndjson'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { orgId } = principal
    const { limit, format, project, ...given } = query
    const filter = { ...given, projectIds: await readableProjects(sql, principal, project) }
    const keys = await listExported(sql, orgId, filter, limit)
    const prompts = viewPrompts(openExported(sql, orgId, keys, openTurns()), filter.verdict)
    return format === 'jsonl'
      ? jsonLines('replay-prompts.jsonl', prompts)
      : jsonList('prompts', prompts)
  },
})

/** Leaves out what was decided anew since it was listed. */
async function* viewPrompts(traces: AsyncIterable<ExportedTrace>, verdict: Verdict) {
  for await (const trace of traces) if (trace.verdict === verdict) yield viewPrompt(trace)
}

function viewPrompt({ turn_index: _, reasons, ...trace }: ExportedTrace) {
  const changed_surfaces = reasons
    .filter(({ component_type }) => component_type !== null)
    .map(({ subject, code }) => ({ name: subject, reason: code }))
  return { ...trace, replay_context: { changed_surfaces } }
}
