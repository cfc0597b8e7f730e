import type { Request } from '@hapi/hapi'
import { randomUUIDv7 } from 'node:crypto'
import { buildDataset, payloadOfBuild } from '../../jobs/build-dataset.ts'
import { hashFilters } from '../../jobs/rules/datasets/filters.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { QuotaRefusal } from '../../jobs/rules/org/quota-refusal.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { DatasetRow } from '../../sql/datasets/datasets.ts'
import { insertVersion } from '../../sql/datasets/versions.ts'
import type { VersionRow } from '../../sql/datasets/versions.ts'
import { admitJob } from '../admit-job.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { quotaExceeded, requireQuota } from '../quota.ts'
import { answerLongWork } from '../wait.ts'
import { findVisibleVersion, viewVersion } from './version.ts'

/**
 * Submits the build of a new version and answers with it: 201 when it has ended as long as the client
 * waits, else 202.
 * @throws ApiError 402 when the quota is used up, or the rows did not fit
 */
export async function answerBuild(call: Building, dataset: DatasetRow, recipe: Recipe) {
  const { context, principal } = call
  if (recipe.dataset_type === 'sft') await requireQuota(context, principal, 'sft_rows')
  const { id, jobId } = await submitBuild(context, principal, dataset, recipe)
  return answerLongWork(call, jobId, 201, async () => {
    const reference = { dataset_id: dataset.id, version: id }
    const version = await findVisibleVersion(context, principal, reference)
    refuseBeyondQuota(version, context.now())
    return viewVersion(context, principal.orgId, version)
  })
}

/** @throws ApiError 402 when the build ended because its rows did not fit the quota */
function refuseBeyondQuota({ error }: VersionRow, at: Date) {
  if (error?.code !== 'quota_exceeded') return
  throw quotaExceeded(error.details as QuotaRefusal, at)
}

async function submitBuild(
  context: ApiContext,
  principal: Principal,
  dataset: DatasetRow,
  recipe: Recipe,
) {
  const id = randomUUIDv7()
  const submission = {
    projectId: dataset.project_id,
    resultRef: `/datasets/${dataset.id}/versions/${id}`,
  }
  const jobId = await context.queue.transaction(context.sql, async (tx: Transaction) => {
    const payload = payloadOfBuild(id, recipe)
    const job_id = await admitJob(context, tx, principal, buildDataset, payload, submission)
    const inserted = await insertVersion(tx, {
      id,
      org_id: principal.orgId,
      dataset_id: dataset.id,
      job_id,
      recipe,
      filter_hash: hashFilters(recipe.filters),
      created_by: principal.keyId,
    })
    if (!inserted) throw notFound('Dataset')
    return job_id
  })
  return { id, jobId }
}

interface Building {
  readonly context: ApiContext
  readonly principal: Principal
  readonly request: Request
}
