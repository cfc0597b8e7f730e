import { adviseOn } from '../../../jobs/rules/datasets/hub/faults.ts'
import { pushDataset } from '../../../jobs/push-dataset.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { claimHubRepo } from '../../../sql/datasets/hub-repos.ts'
import { findPush, setPushCommit } from '../../../sql/datasets/pushes.ts'
import type { PushRow } from '../../../sql/datasets/pushes.ts'
import { findVersionToBuild } from '../../../sql/datasets/versions.ts'
import { NoAnswer } from '../../outbound/guarded-fetch.ts'
import { GiveUp, OutsideFault } from '../../runtime/give-up.ts'
import { continueAfter, handler } from '../../runtime/handler.ts'
import type { Run } from '../../runtime/handler.ts'
import { openJobSecret } from '../../runtime/job-secret.ts'
import { HubRefused } from './fetch.ts'
import { openHubRepo } from './repo.ts'
import { pushVersion } from './push-version.ts'

/**
 * Sends a version to a repository of the hub, in one commit. A run that was cut off sends again what the
 * hub does not have, file by file, and commits unless it finds the commit.
 */
export const pushDatasetHandler = handler(pushDataset, async ({ push_id }, run) => {
  const push = await findPush(run.sql, run.orgId, push_id)
  const version = push && (await findVersionToBuild(run.sql, run.orgId, push.version_id))
  if (!version) throw new GiveUp('version_gone', 'The dataset version was deleted')
  const token = await openToken(run, push)
  const { outbound, signal, now } = run
  try {
    const repo = openHubRepo({ outbound, token, signal, now }, push.repo_id)
    const { commit, fileCount: total } = await pushVersion({ push, version, repo, run })
    await run.sql.begin(async (tx: Transaction) => {
      // In this order, as when the dataset is deleted.
      await run.checkpoint(tx, { done: total, total, unit: 'files', note: 'committed' })
      await setPushCommit(tx, run.orgId, push.id, commit)
    })
    return { push_id, commit_oid: commit.oid, commit_url: commit.url }
  } catch (error) {
    return answerFault(error, push, token, run)
  }
})

/**
 * @throws GiveUp where the token cannot be opened, has ended with the job, or was never set, and where that
 *   of the installation is not for this repository
 */
async function openToken(run: Run, push: PushRow): Promise<string> {
  const given = await openJobSecret(run, 'token')
  if (given !== undefined) return given
  const { sql, orgId, outbound } = run
  const { token } = outbound.hub
  if (token === undefined) throw new GiveUp('no_token', 'HUB_TOKEN is not set any more')
  if (await claimHubRepo(sql, orgId, push)) return token
  throw new GiveUp(
    'hub_repo_taken',
    `${push.repo_id} is another organization's: push there with a token of your own`,
  )
}

/** Waits where the hub says so. @throws what is to become of the job otherwise */
function answerFault(error: unknown, push: PushRow, token: string, { now, signal }: Run) {
  signal.throwIfAborted()
  if (error instanceof NoAnswer) throw new OutsideFault('hub_unavailable', error.message)
  if (!(error instanceof HubRefused)) throw error
  const waitedSeconds = (now().getTime() - push.created_at.getTime()) / 1000
  const advice = adviseOn(error.refusal, token, waitedSeconds)
  switch (advice.kind) {
    case 'wait':
      return continueAfter(advice.seconds)
    case 'give_up':
      throw new GiveUp(advice.code, advice.message)
    case 'retry':
      throw new OutsideFault(advice.code, advice.message)
  }
}
