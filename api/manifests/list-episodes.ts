import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { countEpisodes, listEpisodes } from '../../sql/compat-episodes.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeTraceCursor, listAnswer } from '../pagination.ts'
import { COMPAT_VERDICTS, episodeBody } from './report-fields.ts'
import { findVisibleReport, reportPath } from './show-report.ts'

export const listEpisodesOperation = endpoint(
  'GET',
  '/manifests/{manifest_id}/compatibility/{report_id}/episodes',
  {
    area: 'manifests',
    summary: 'List what a report decided on each trace, newest trace first',
    description: 'Kept for 90 days; the report stays.',
    access: 'key',
    params: reportPath,
    query: shape({}, { verdict: oneOf(...COMPAT_VERDICTS), ...pageQuery }),
    answers: {
      200: Joi.object({ episodes: listOf(episodeBody).required(), ...listMembers }).label(
        'CompatEpisodeList',
      ),
      404: errorBody,
    },
    async handle({ context, principal, params, query }) {
      const { limit = 50, offset = 0, verdict } = query
      const report = await findVisibleReport(context, principal, params)
      const filter = { orgId: principal.orgId, reportId: report.id, verdict }
      const page = { limit: limit + 1, offset, before: decodeTraceCursor(query.cursor) }
      const [rows, counted] = await Promise.all([
        listEpisodes(context.sql, filter, page),
        countEpisodes(context.sql, filter, COUNT_LIMIT + 1),
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
