import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { answerCancel } from './cancellation.ts'
import { jobBody, jobPath } from './job.ts'

export const cancelJob = endpoint('POST', '/jobs/{job_id}/cancel', {
  summary: 'Cancel a job',
  description:
    'A waiting job is canceled at once; a running one stops at its next safe point, and what it has committed stays.',
  access: 'key',
  params: jobPath,
  answers: { 200: jobBody, 202: jobBody, 404: errorBody, 409: errorBody },
  handle: ({ context, principal, params }) => answerCancel(context, principal, params.job_id),
})
