import Joi from 'joi'
import { jobs as declaredJobs } from '../../jobs/index.ts'
import { JOB_STATES } from '../../jobs/rules/jobs/job-state.ts'
import { listOf, oneOf, shape, time } from '../../jobs/shape.ts'
import * as jobs from '../../sql/jobs/jobs.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, listMembers, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { jobBody, viewJob } from './job.ts'

export const listJobs = endpoint('GET', '/jobs', {
  summary: 'List jobs, newest first',
  description: 'A result of more than 16 KiB is null here: read the job.',
  access: 'key',
  query: shape(
    {},
    {
      kind: oneOf(...declaredJobs.map(({ name }) => name)),
      state: oneOf(...JOB_STATES),
      created_after: time(),
      project: projectField,
      ...cursorQuery,
    },
  ),
  answers: {
    200: Joi.object({ jobs: listOf(jobBody).required(), ...listMembers }).label('JobList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const page = { limit: query.limit, offset: 0 }
    const filter = {
      before: decodeCursor(query.cursor),
      projectIds: await readableProjects(sql, principal, query.project),
      keyId: query.project === undefined ? principal.keyId : undefined,
      kind: query.kind,
      state: query.state,
      createdAfter: query.created_after,
      limit: page.limit + 1,
    }
    const [rows, counted] = await Promise.all([
      jobs.listJobs(sql, principal.orgId, filter),
      jobs.countJobs(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('jobs', page, rows, counted, viewJob, ageKey)
  },
})
