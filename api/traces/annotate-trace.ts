import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import {
  scoreOfAnnotation,
  speaksOfCorrection,
  VISIBLE,
} from '../../jobs/rules/evals/annotation.ts'
import type { Annotation } from '../../jobs/rules/evals/annotation.ts'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import {
  countAnnotations,
  insertAnnotation,
  MAX_ANNOTATIONS,
} from '../../sql/traces/annotations.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { lockTraces } from '../../sql/traces/traces.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { badRequest, notFound } from '../errors.ts'
import { storeScores } from '../evals/store-scores.ts'
import { errorBody, nullable, projectField, projectQuery } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { admitJob } from '../admit-job.ts'
import { annotationBody } from './trace-body.ts'
import { findVisibleTrace, tracePath } from './trace.ts'

/** Null, an empty text and an empty list count as absent. */
const members = {
  label: text().empty([null, '']),
  rating: int(1, 5).description('Counts as the score (rating - 1) / 4'),
  correctness: Joi.alternatives<boolean | string>()
    .try(Joi.boolean(), text(64))
    .empty([null, ''])
    .description('true stands for correct, false for incorrect'),
  error_categories: words(),
  corrected_output: text(100_000)
    .pattern(VISIBLE, 'text with a character that is seen')
    .empty([null, ''])
    .description('What the trace should have ended in'),
  correction_withdrawn: Joi.boolean<boolean>()
    .empty([null, '', false])
    .description('true takes the corrected output back that was given before; false says nothing'),
  tags: words().description('Of the annotation, not of the trace'),
  notes: text(10_000).empty([null, '']),
  score: Joi.number<number>().min(0).max(1).description('Goes before the rating'),
  flagged_for_review: Joi.boolean<boolean>().description(
    'true marks a decision to keep or repair needs_review. false says that it needs no review, whatever its scores and its compatibility leave in doubt, until true is said again',
  ),
}

const body = shape({}, { ...members, project: projectField })
  .or(...Object.keys(members))
  .oxor('corrected_output', 'correction_withdrawn')
  .label('AnnotationRequest')
  .example({
    rating: 2,
    corrected_output: 'Order 42 is lost; I have sent it again.',
    notes: 'Guessed',
  })

export const annotateTrace = endpoint('POST', '/traces/{trace_id}/annotations', {
  summary: 'Say what a person thinks of a trace',
  description:
    'At least one member must say something. A score or rating becomes the human score `annotation` of the key, in the place of its last one, and the trace is judged anew by the job that is named. It is judged anew, too, when an output is corrected, a correction is withdrawn, or a flag is set. Of several corrected outputs the newest holds, until `correction_withdrawn`: in a dataset it is the chosen side of a pair whose rejected side is the output of the trace (dpo), and the last turn of the row of the trace (sft). A trace that would be dropped or replayed for what it ended in is one to repair by its correction. Read annotations back with the trace.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  body,
  answers: {
    201: annotationBody
      .keys({
        trace_id: Joi.string().required(),
        verdict_job_id: nullable(Joi.string().guid()).description(
          'Null where nothing was said that a decision depends on',
        ),
      })
      .label('StoredAnnotation'),
    404: errorBody,
  },
  async handle({ context, principal, params, query, body }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    const annotation = readAnnotation(body)
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const there = await lockTraces(tx, trace.org_id, trace.project_id, [trace.trace_id])
      if (!there.has(trace.trace_id)) throw notFound('Trace')
      if ((await countAnnotations(tx, trace)) >= MAX_ANNOTATIONS) {
        throw badRequest(`A trace has at most ${MAX_ANNOTATIONS} annotations`)
      }
      const row = { ...annotation, id: randomUUIDv7(), created_by: principal.keyId }
      const stored = await insertAnnotation(tx, trace, row)
      const verdict_job_id = await judgeAnew(context, tx, principal, trace, annotation)
      return new Answer(201, { ...stored, trace_id: trace.trace_id, verdict_job_id })
    })
  },
})

function words() {
  return listOf(text(128).min(1))
    .max(50)
    .empty([null, Joi.array().length(0)])
}

function readAnnotation({ correctness, ...given }: Valid<typeof body>): Annotation {
  return {
    label: given.label ?? null,
    rating: given.rating ?? null,
    correctness:
      typeof correctness === 'boolean'
        ? correctness
          ? 'correct'
          : 'incorrect'
        : (correctness ?? null),
    error_categories: given.error_categories ?? [],
    corrected_output: given.corrected_output ?? null,
    correction_withdrawn: given.correction_withdrawn ?? false,
    tags: given.tags ?? [],
    notes: given.notes ?? null,
    score: given.score ?? null,
    flagged_for_review: given.flagged_for_review ?? null,
  }
}

/** Returns the id of the job that judges; null where the annotation does not affect the decision. */
async function judgeAnew(
  context: ApiContext,
  tx: Transaction,
  principal: Principal,
  { project_id, trace_id }: TraceKey,
  annotation: Annotation,
) {
  const score = scoreOfAnnotation(annotation, principal.keyId)
  if (score) {
    const [jobId] = await storeScores(context, tx, principal, project_id, [{ ...score, trace_id }])
    return jobId
  }
  if (annotation.flagged_for_review === null && !speaksOfCorrection(annotation)) return null
  const payload = { project_id, trace_ids: [trace_id] }
  return admitJob(context, tx, principal, judgeTraces, payload, { projectId: project_id })
}
