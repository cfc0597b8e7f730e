import Joi from 'joi'
import { describeFault } from '../../jobs/rules/core/reader.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listTraceProjects, lockTraces } from '../../sql/traces/traces.ts'
import { endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { errorBody, projectField, projectQuery } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { MAX_SCORES_A_PUSH, readBulkScores } from './pushed-scores.ts'
import type { PushedScore } from './pushed-scores.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { scoreRequest } from './score.ts'
import { storeScores } from './store-scores.ts'

const body: CheckedBody<readonly PushedScore[]> = {
  documented: Joi.object({
    source: Joi.string().description('For scores that name none; default custom'),
    scores: listOf(scoreRequest.keys({ trace_id: Joi.string().required() }).label('BulkScore'))
      .min(1)
      .max(MAX_SCORES_A_PUSH)
      .required(),
    metadata: Joi.object().unknown(true),
    project: projectField,
  })
    .label('BulkScoresRequest')
    .example({
      scores: [{ trace_id: 'order-42', source: 'sdk', name: 'task_solved', score: true }],
    }),
  maxBytes: MAX_BODY_BYTES,
  read: readBulkScores,
}

export const pushScores = endpoint('POST', '/eval-scores', {
  summary: 'Push up to 5,000 scores of many traces',
  description: 'A score that is not as it should be, or whose trace is unknown, costs only itself.',
  access: 'key',
  query: projectQuery,
  body,
  answers: {
    200: Joi.object({
      stored: Joi.number().integer().required(),
      errors: listOf(
        Joi.object({
          index: Joi.number().integer().required().description('Place in the request, from 0'),
          trace_id: Joi.string().allow(null).required(),
          code: Joi.string().valid('validation_error', 'not_found', 'ambiguous').required(),
          message: Joi.string().required(),
        }).label('ScoreError'),
      ).required(),
      verdict_job_ids: listOf(Joi.string().guid()).required(),
      verdict_job_id: Joi.string().guid().allow(null).required().description('The first of them'),
    }).label('StoredScores'),
    404: errorBody,
  },
  async handle({ context, principal, query, body }) {
    const visible = await readableProjects(context.sql, principal, query.project)
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const found = await lockFound(tx, principal.orgId, visible, body)
      const resolved = body.map((each, index) => resolve(each, index, found))
      const rows = resolved.flatMap((each) => ('error' in each ? [] : [each]))
      const verdict_job_ids: string[] = []
      const byProject = Map.groupBy(rows, (row) => row.projectId)
      for (const projectId of [...byProject.keys()].sort()) {
        const scores = (byProject.get(projectId) ?? []).map(({ score }) => score)
        const jobIds = await storeScores(context, tx, principal, projectId, scores)
        for (const id of jobIds) verdict_job_ids.push(id)
      }
      return {
        stored: rows.length,
        errors: resolved.flatMap((each) => ('error' in each ? [each.error] : [])),
        verdict_job_ids,
        verdict_job_id: verdict_job_ids[0] ?? null,
      }
    })
  },
})

/** Finds the projects of the traces that are named, and locks these traces against deletion. */
async function lockFound(
  tx: Transaction,
  orgId: string,
  visible: readonly string[] | null,
  pushed: readonly PushedScore[],
) {
  const ids = [...new Set(pushed.flatMap((each) => ('score' in each ? [each.trace_id] : [])))]
  const found = await listTraceProjects(tx, orgId, visible, ids)
  for (const projectId of new Set([...found.values()].flat().sort())) {
    const there = await lockTraces(tx, orgId, projectId, ids)
    for (const [id, projects] of found) {
      if (projects.includes(projectId) && !there.has(id)) found.delete(id)
    }
  }
  return found
}

/** A score with the project of its trace, or why it cannot be stored. */
function resolve(each: PushedScore, index: number, found: ReadonlyMap<string, readonly string[]>) {
  const { trace_id } = each
  const refuse = (code: string, message: string) => ({ error: { index, trace_id, code, message } })
  if (!('score' in each)) {
    return refuse('validation_error', each.faults.map(describeFault).join('; '))
  }
  const [projectId, other] = found.get(each.trace_id) ?? []
  if (projectId === undefined) return refuse('not_found', 'Trace not found')
  if (other !== undefined) {
    return refuse('ambiguous', 'Several projects have a trace of this id: name one as `project`')
  }
  return { projectId, score: { ...each.score, trace_id: each.trace_id } }
}
