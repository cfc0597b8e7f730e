import { isConflict } from '../../../jobs/rules/datasets/hub/faults.ts'
import { describeCommit, findPushed } from '../../../jobs/rules/datasets/hub/push-commit.ts'
import type { PushIdentity } from '../../../jobs/rules/datasets/hub/push-commit.ts'
import type { PushRow } from '../../../sql/datasets/pushes.ts'
import type { VersionRow } from '../../../sql/datasets/versions.ts'
import { GiveUp } from '../../runtime/give-up.ts'
import type { Run } from '../../runtime/handler.ts'
import { HubRefused } from './fetch.ts'
import { commitUrl } from './repo.ts'
import type { HubRepo } from './repo.ts'
import { commitOperations, listPushedFiles } from './push-files.ts'
import { countUploads } from './push-progress.ts'

export interface Pushing {
  readonly push: PushRow
  readonly version: VersionRow
  readonly repo: HubRepo
  readonly run: Run
}

export interface Pushed {
  readonly commit: { readonly oid: string; readonly url: string }
  readonly fileCount: number
}

/**
 * Brings a version into a repository, unless it is there.
 * @returns the commit it came with, and of how many files
 * @throws HubRefused; GiveUp for a public repository where a private one was asked for
 */
export async function pushVersion(pushing: Pushing): Promise<Pushed> {
  const { push, version, repo, run } = pushing
  await refusePublic(pushing)
  const { files, contents } = await listPushedFiles(run, version)
  const identity = { pushId: push.id, versionId: version.id, contents }
  const uploads = countUploads(run, push.id, files)
  for (let tries = 1; ; tries++) {
    const commits = await repo.listCommits(push.revision)
    const found = push.create_pr
      ? await findPullRequest(repo, identity)
      : findPushed(commits, identity)
    try {
      const oid =
        found?.id ??
        (await repo.commit({
          ...describeCommit(identity, push.commit_message),
          revision: push.revision,
          parent: commits[0]?.id,
          isPullRequest: push.create_pr,
          operations: commitOperations(files, await repo.listData(push.revision)),
          onUploaded: uploads.add,
        }))
      await uploads.complete()
      const url = commitUrl(push.hub_url, push.repo_id, oid)
      return { commit: { oid, url }, fileCount: files.length }
    } catch (error) {
      const headMoved = error instanceof HubRefused && isConflict(error.refusal)
      if (!headMoved || tries > CONFLICT_RETRIES) throw error
    }
  }
}

async function refusePublic({ push: { private: isPrivate, repo_id }, repo }: Pushing) {
  const { isPublic } = await repo.open(isPrivate)
  if (!isPrivate || !isPublic) return
  throw new GiveUp('hub_public', `${repo_id} is public: push with private false if that is meant`)
}

/** The commit of an open pull request that brings the version. */
async function findPullRequest(repo: HubRepo, identity: PushIdentity) {
  const { title } = describeCommit(identity, null)
  const all = await repo.listPullRequests()
  for (const { revision } of all
    .filter((pull) => pull.title.startsWith(title))
    .slice(0, PULLS_READ)) {
    const found = findPushed(await repo.listCommits(revision), identity)
    if (found) return found
  }
  return undefined
}

/** How often the head may move meanwhile. */
const CONFLICT_RETRIES = 3
const PULLS_READ = 5
