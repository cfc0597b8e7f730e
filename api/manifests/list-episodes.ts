import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { COMPAT_ACTIONS } from '../../jobs/rules/manifests/compat-policy.ts'
import * as compatEpisodes from '../../sql/manifests/compat-episodes.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, nullable, pageQuery, times } from '../fields.ts'
import { COUNT_LIMIT, decodeTraceCursor, listAnswer } from '../pagination.ts'
import { findVisibleReport, reportPath } from './report.ts'

const episodeBody = Joi.object({
  trace_id: Joi.string().required(),
  started_at: times.required(),
  verdict: Joi.string()
    .valid(...VERDICTS)
    .required(),
  needs_review: Joi.boolean().required(),
  reasons: listOf(
    Joi.object({
      action: Joi.string()
        .valid(...COMPAT_ACTIONS)
        .required(),
      code: Joi.string().required(),
      component_type: nullable(Joi.string()),
      subject: Joi.string().required(),
      detail: Joi.string(),
    }).label('CompatReason'),
  ).required(),
  repair_rules: listOf(Joi.object().unknown(true).label('RepairRule')).required(),
}).label('CompatEpisode')

export const listEpisodes = endpoint(
  'GET',
  '/manifests/{manifest_id}/compatibility/{report_id}/episodes',
  {
    summary: 'List what a report decided on each trace, newest trace first',
    description: 'Kept for 90 days; the report stays.',
    access: 'key',
    params: reportPath,
    query: shape({}, { verdict: oneOf(...VERDICTS), ...pageQuery }),
    answers: {
      200: Joi.object({ episodes: listOf(episodeBody).required(), ...listMembers }).label(
        'CompatEpisodeList',
      ),
      404: errorBody,
    },
    async handle({ context, principal, params, query }) {
      const { limit, offset, verdict } = query
      const report = await findVisibleReport(context, principal, params)
      const filter = { orgId: principal.orgId, reportId: report.id, verdict }
      const page = { limit: limit + 1, offset, before: decodeTraceCursor(query.cursor) }
      const [rows, counted] = await Promise.all([
        compatEpisodes.listEpisodes(context.sql, filter, page),
        compatEpisodes.countEpisodes(context.sql, filter, COUNT_LIMIT + 1),
      ])
      return listAnswer(
        'episodes',
        { limit, offset },
        rows,
        counted,
        (episode) => episode,
        (episode) => [episode.started_at, episode.trace_id, report.project_id],
      )
    },
  },
)
