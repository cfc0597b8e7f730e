import Joi from 'joi'
import { CLOCK_AHEAD_MS } from '../../jobs/rules/core/time.ts'
import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import { checkRegression } from '../../jobs/check-regression.ts'
import { bool, int, shape, text, uuidReference } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findManifest } from '../../sql/manifests/manifests.ts'
import type { ManifestRow } from '../../sql/manifests/manifests.ts'
import { findBaselineId } from '../../sql/regression/checks.ts'
import { admitJob } from '../admit-job.ts'
import type { Call } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { EXAMPLE_ID } from '../fields.ts'
import { findComparedManifest, findVisibleManifest } from '../manifests/manifest.ts'

export const requestBody = shape(
  { agent_name: text(), candidate_manifest_id: uuidReference() },
  {
    baseline_manifest_id: uuidReference().description(
      'Default: the active version, or when that is the candidate the one active before it',
    ),
    trace_window_days: int(1, 365)
      .default(TRACE_WINDOW_DAYS)
      .description('Days of traces back from now'),
    pr_context: shape(
      {},
      {
        repo: text(),
        pr_number: int(0, 2 ** 31 - 1),
        branch: text(),
        commit_sha: text(),
      },
    )
      .pattern(/^/, Joi.any().empty(null))
      .options({ stripUnknown: false })
      .description('Kept with the check; ignored in a dry run'),
    source: text().description('Who asks, for example ci'),
  },
)
  .label('RegressionCheckRequest')
  .example({ agent_name: 'shop-agent', candidate_manifest_id: EXAMPLE_ID })

export const requestQuery = shape(
  {},
  {
    dry_run: bool()
      .default(false)
      .description('Compute the report without keeping or metering anything'),
  },
)

/** @throws ApiError 404 for a manifest that is not there, 400 for one of another agent */
export async function findCompared({ context, principal, body }: CheckCall): Promise<Compared> {
  const candidate = await findVisibleManifest(context, principal, body.candidate_manifest_id)
  if (candidate.agent_name !== body.agent_name) {
    throw badRequest('The candidate manifest belongs to a different agent')
  }
  if (body.baseline_manifest_id) {
    const baseline = await findComparedManifest(
      context,
      principal,
      candidate,
      body.baseline_manifest_id,
      'The baseline manifest belongs to a different agent',
    )
    return { candidate, baseline }
  }
  const { orgId } = principal
  const agent = { orgId, projectId: candidate.project_id, agentName: candidate.agent_name }
  const id = await findBaselineId(context.sql, agent, candidate)
  return { candidate, baseline: id ? await findManifest(context.sql, orgId, id) : undefined }
}

/** @param checkId null for a dry run */
export function submitCheck(
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
    trace_window_days: body.trace_window_days,
    // Traces count whose recorder's clock is ahead.
    until: new Date(context.now().getTime() + CLOCK_AHEAD_MS),
  }
  return admitJob(context, tx, principal, checkRegression, payload, {
    projectId: candidate.project_id,
    ...(checkId && { resultRef: `/regression-check/${checkId}` }),
  })
}

export type CheckCall = Call<unknown, Valid<typeof requestQuery>, Valid<typeof requestBody>>

/** The two manifests that a check compares. */
export interface Compared {
  readonly candidate: ManifestRow
  /** Undefined for an agent's first check. */
  readonly baseline: ManifestRow | undefined
}
