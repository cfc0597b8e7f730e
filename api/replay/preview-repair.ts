import Joi from 'joi'
import { previewRepair as previewJob } from '../../jobs/preview-repair.ts'
import type { RepairPreview } from '../../jobs/rules/manifests/repair-preview.ts'
import { int, listOf, shape } from '../../jobs/shape.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import type { JobRow } from '../../sql/jobs/jobs.ts'
import { admitJob } from '../admit-job.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, EXAMPLE_ID, nullable, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { findRepairPair, pairFields } from './repair-pair.ts'
import { ruleFields, workStatus, workStatuses } from './repair.ts'

const patched = () =>
  Joi.any().description(
    'Only what differs; texts are cut to 2,000 characters around the first difference',
  )

const previewBody = Joi.object({
  job_id: Joi.string().guid().required(),
  status: workStatuses.required(),
  message: nullable(Joi.string()).description('Why there is nothing to show'),
  rules: listOf(
    Joi.object({
      ...ruleFields,
      confidence: Joi.number()
        .min(0)
        .max(1)
        .required()
        .description('The share of those traces whose calls fit afterwards'),
    }).label('PreviewedRepairRule'),
  ).required(),
  rules_hash: nullable(Joi.string()).description('To be given to an apply'),
  previews: listOf(
    Joi.object({
      trace_id: Joi.string().required(),
      before: patched(),
      after: patched(),
    }).label('PreviewedRepair'),
  )
    .required()
    .description('The newest traces that were repaired'),
  total_eligible: nullable(Joi.number().integer()).description(
    'How many of the sample the rules may repair',
  ),
  total_sampled: nullable(Joi.number().integer()).description(
    'The newest 1,000 traces of the old manifest',
  ),
}).label('RepairPreview')

export const previewRepair = endpoint('POST', '/repair/preview', {
  summary: 'Show the rules that repair traces of an older manifest for a newer one',
  description:
    'Long work: 200 with the preview when it is done within the preferred wait, else 202; then it is the `result` of the job. No trace is repaired; the job keeps `previews` for a day, also when their traces are deleted.',
  access: 'key',
  body: shape(pairFields, {
    sample_size: int(1, 50).default(10).description('Traces shown before and after'),
  })
    .label('RepairPreviewRequest')
    .example({ old_manifest_id: EXAMPLE_ID, new_manifest_id: EXAMPLE_ID }),
  headers: waitHeaders,
  answers: { 200: previewBody, 202: previewBody, 404: errorBody },
  async handle(call) {
    const { context, principal, body } = call
    const { before, after } = await findRepairPair(context, principal, body)
    const payload = {
      old_manifest_id: before.id,
      new_manifest_id: after.id,
      sample_size: body.sample_size,
    }
    const projectId = after.project_id
    const job_id = await admitJob(context, context.sql, principal, previewJob, payload, {
      projectId,
    })
    return answerLongWork(call, job_id, 200, async () =>
      viewPreview(await findJob(context.sql, principal.orgId, job_id)),
    )
  },
})

/** The lists are empty until the job is done. */
function viewPreview(job: JobRow | undefined) {
  const status = workStatus(job?.state ?? null)
  return { ...EMPTY, ...(job?.result as RepairPreview | null), status }
}

const EMPTY = {
  message: null,
  rules: [],
  rules_hash: null,
  previews: [],
  total_eligible: null,
  total_sampled: null,
}
