import Joi from 'joi'
import { listOf, oneOf, shape, text, time } from '../../jobs/shape.ts'
import { countJobs, listJobs } from '../../sql/jobs.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { jobBody, jobStates, showJob } from './show-job.ts'

export const listJobsOperation = endpoint('GET', '/jobs', {
  area: 'jobs',
  summary: 'List jobs, newest first',
  access: 'key',
  query: shape(
    {},
    {
      kind: text(64),
      state: oneOf(...jobStates),
      created_after: time(),
      project: projectField,
      limit: pageQuery.limit,
      cursor: pageQuery.cursor,
    },
  ),
  answers: {
    200: Joi.object({ jobs: listOf(jobBody).required(), ...listMembers }).label('JobList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const page = { limit: query.limit ?? 50, offset: 0, cursor: query.cursor }
    const cursor = decodeCursor(page.cursor)
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      kind: query.kind,
      state: query.state,
      createdAfter: query.created_after,
      before: cursor && { created_at: cursor.at, id: cursor.id },
      limit: page.limit + 1,
    }
    const [rows, counted] = await Promise.all([
      listJobs(sql, principal.orgId, filter),
      countJobs(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('jobs', page, rows, counted, showJob, (job) => [job.created_at, job.id])
  },
})
