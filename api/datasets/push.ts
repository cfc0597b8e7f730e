import Joi from 'joi'
import { statusOfWork } from '../../jobs/rules/jobs/job-state.ts'
import { listOf, shape } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { countPushes, listPushes } from '../../sql/datasets/pushes.ts'
import type { PushFilter, PushRow } from '../../sql/datasets/pushes.ts'
import type { Valid } from '../../jobs/shape.ts'
import { listMembers, nullable, pageQuery, times } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'

const count = Joi.number().integer()

const pushBody = Joi.object({
  id: Joi.string().guid().required(),
  version_id: Joi.string().guid().required(),
  job_id: Joi.string().guid().required(),
  status: Joi.string().valid('queued', 'running', 'succeeded', 'failed', 'canceled').required(),
  repo_id: Joi.string().required(),
  revision: Joi.string().required(),
  private: Joi.boolean().required(),
  create_pr: Joi.boolean().required(),
  commit_message: nullable(Joi.string()),
  hub_url: Joi.string().required(),
  commit_oid: nullable(Joi.string()),
  commit_url: nullable(Joi.string()),
  files_total: nullable(count).description('Null before the push begins'),
  files_done: count.required().description('Files that the hub has'),
  bytes_done: count.required(),
  error: nullable(Joi.object().unknown(true)),
  created_at: times.required(),
}).label('DatasetPush')

export const pushesBody = Joi.object({
  pushes: listOf(pushBody).required(),
  ...listMembers,
}).label('DatasetPushList')

export const pushesQuery = shape({}, pageQuery)

/** The answer of a list of pushes, newest first. */
export async function answerPushes(
  sql: Queryable,
  orgId: string,
  filter: PushFilter,
  { limit, offset, cursor }: Valid<typeof pushesQuery>,
) {
  const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
  const [rows, counted] = await Promise.all([
    listPushes(sql, orgId, filter, page),
    countPushes(sql, orgId, filter, COUNT_LIMIT + 1),
  ])
  return listAnswer('pushes', { limit, offset }, rows, counted, viewPush, ageKey)
}

function viewPush({ state, ...push }: PushRow) {
  return { ...push, status: statusOfWork(state) }
}
