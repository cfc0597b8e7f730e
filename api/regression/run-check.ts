import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import { checkRegression } from '../../jobs/check-regression.ts'
import type { CheckFindings } from '../../jobs/rules/check-findings.ts'
import { int, shape, text, uuid } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { deleteJob, findJob } from '../../sql/jobs.ts'
import { findManifest } from '../../sql/manifests.ts'
import type { ManifestRow } from '../../sql/manifests.ts'
import { findBaselineId, findCheck, insertCheck } from '../../sql/regression-checks.ts'
import type { CheckRow } from '../../sql/regression-checks.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { Call } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { EXAMPLE_ID, errorBody, quotaBody } from '../fields.ts'
import { findVisibleManifest } from '../manifests/find-manifest.ts'
import { charge } from '../quota.ts'
import { submitJob } from '../submit.ts'
import { answerLongWork } from '../wait.ts'
import { checkBody } from './check-fields.ts'
import { showCheck } from './show-check.ts'

const requestBody = shape(
  { agent_name: text(), candidate_manifest_id: uuid() },
  {
    baseline_manifest_id: uuid().description(
      'Default: what an accepted or the first check registered, else the active version, else the parent',
    ),
    trace_window_days: int(1, 365).default(30).description('Days of traces back from now'),
    pr_context: shape(
      {},
      {
        repo: text(),
        pr_number: int(0, 2 ** 31 - 1),
        branch: text(),
        commit_sha: text(),
      },
    )
      .unknown(true)
      .options({ stripUnknown: false })
      .description('Kept with the check; ignored in a dry run'),
    source: text().description('Who asks, for example ci'),
  },
)
  .label('RegressionCheckRequest')
  .example({ agent_name: 'shop-agent', candidate_manifest_id: EXAMPLE_ID })

const requestQuery = shape(
  {},
  {
    dry_run: Joi.boolean()
      .default(false)
      .description('Compute the report without keeping or metering anything'),
  },
)

export const runCheck = endpoint('POST', '/regression-check', {
  area: 'regression',
  summary: 'Tell what a candidate manifest breaks in recorded traffic',
  description:
    'Long work: 200 with the complete report, or 202 while it is made. `verdict` is high_risk, medium_risk, low_risk, no_change, unverified (changes, and no trace to measure them by: never a pass) or first_run (no baseline: the candidate becomes it). With `dry_run` nothing is registered, counted or kept; after a 202, `result.findings` of the job holds what was found.',
  access: 'key',
  query: requestQuery,
  body: requestBody,
  answers: { 200: checkBody, 202: checkBody, 402: quotaBody, 404: errorBody },
  async handle(call) {
    const compared = await findCompared(call)
    return call.query.dry_run ? runDry(call, compared) : runKept(call, compared)
  },
})

/** @throws ApiError 404 for a manifest that is not there, 400 for one of another agent */
async function findCompared({ context, principal, body }: CheckCall): Promise<Compared> {
  const candidate = await findVisibleManifest(context, principal, body.candidate_manifest_id)
  if (candidate.agent_name !== body.agent_name) {
    throw badRequest('The candidate manifest belongs to a different agent')
  }
  if (body.baseline_manifest_id) {
    const baseline = await findVisibleManifest(context, principal, body.baseline_manifest_id)
    const isOther =
      baseline.agent_name !== candidate.agent_name || baseline.project_id !== candidate.project_id
    if (isOther) throw badRequest('The baseline manifest belongs to a different agent')
    return { candidate, baseline }
  }
  const { orgId } = principal
  const agent = { orgId, projectId: candidate.project_id, agentName: candidate.agent_name }
  const id = await findBaselineId(context.sql, agent, candidate)
  return { candidate, baseline: id ? await findManifest(context.sql, orgId, id) : undefined }
}

async function runKept(call: CheckCall, compared: Compared) {
  const { context, principal, body } = call
  const { candidate, baseline } = compared
  const id = randomUUIDv7()
  const jobId = await context.queue.transaction(context.sql, async (tx: Transaction) => {
    const job_id = await submit(call, tx, compared, id)
    await insertCheck(tx, principal.orgId, {
      id,
      project_id: candidate.project_id,
      agent_name: candidate.agent_name,
      candidate_manifest_id: candidate.id,
      baseline_manifest_id: baseline?.id ?? null,
      job_id,
      trace_window_days: body.trace_window_days ?? WINDOW_DAYS,
      source: body.source ?? null,
      pr_context: body.pr_context ?? null,
      created_at: context.now(),
    })
    await charge(context, tx, principal, 'regression_checks', 1)
    return job_id
  })
  return answerLongWork(call, jobId, 200, async () =>
    showCheck((await findCheck(context.sql, principal.orgId, id)) as CheckRow),
  )
}

/** Its job goes with the answer; where the client has to come back for it, when it expires. */
async function runDry(call: CheckCall, compared: Compared) {
  const { context, principal } = call
  const createdAt = context.now()
  const jobId = await context.queue.transaction(context.sql, (tx: Transaction) =>
    submit(call, tx, compared, null),
  )
  const answer = await answerLongWork(call, jobId, 200, async () => {
    const job = await findJob(context.sql, principal.orgId, jobId)
    const findings = (job?.result?.['findings'] ?? null) as CheckFindings | null
    const outcome = { findings, job_state: job?.state ?? null, job_error: job?.error ?? null }
    return showCheck({ ...unkept(call, compared), ...outcome, created_at: createdAt })
  })
  if (answer.status !== 200) return answer
  await deleteJob(context.sql, principal.orgId, jobId)
  return new Answer(200, { ...(answer.body as object), job_id: null }, answer.headers)
}

function submit(
  { context, principal, body }: CheckCall,
  tx: Transaction,
  { candidate, baseline }: Compared,
  checkId: string | null,
) {
  const payload = {
    project_id: candidate.project_id,
    agent_name: candidate.agent_name,
    candidate_manifest_id: candidate.id,
    baseline_manifest_id: baseline?.id,
    check_id: checkId ?? undefined,
    trace_window_days: body.trace_window_days ?? WINDOW_DAYS,
    until: context.now(),
  }
  return submitJob(context, tx, principal, checkRegression, payload, {
    projectId: candidate.project_id,
    ...(checkId && { resultRef: `/regression-check/${checkId}` }),
  })
}

function unkept({ body }: CheckCall, { candidate, baseline }: Compared) {
  return {
    id: null,
    agent_name: candidate.agent_name,
    candidate_manifest_id: candidate.id,
    baseline_manifest_id: baseline?.id ?? null,
    job_id: '',
    trace_window_days: body.trace_window_days ?? WINDOW_DAYS,
    source: body.source ?? null,
    pr_context: null,
    call_replay: null,
    human_decision: null,
    decision_note: null,
    decided_at: null,
    completed_at: null,
    candidate_version: candidate.version_number,
    candidate_hash: candidate.shown_hash,
    baseline_version: baseline?.version_number ?? null,
    baseline_hash: baseline?.shown_hash ?? null,
  }
}

const WINDOW_DAYS = 30

type CheckCall = Call<unknown, Valid<typeof requestQuery>, Valid<typeof requestBody>>

interface Compared {
  readonly candidate: ManifestRow
  /** Undefined for an agent's first check. */
  readonly baseline: ManifestRow | undefined
}
