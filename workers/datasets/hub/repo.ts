import Joi from 'joi'
import type { HubCommit } from '../../../jobs/rules/datasets/hub/push-commit.ts'
import { anyText, bool, listOf, shape } from '../../../jobs/shape.ts'
import { commitId, readAs, readJson } from './answers.ts'
import { commitFiles } from './commit.ts'
import type { CommitRequest } from './commit.ts'
import { HubRefused, openHubFetch, TOKEN_PLACEHOLDER } from './fetch.ts'
import type { HubAccess } from './fetch.ts'
import { readPages } from './pages.ts'

/** A repository of the hub, for datasets. */
export interface HubRepo {
  /** Makes it unless it is there. @returns whether strangers may read it */
  open(isPrivate: boolean): Promise<{ isPublic: boolean }>
  /** The newest commits of a revision, newest first, at most `COMMITS_READ`. */
  listCommits(revision: string): Promise<HubCommit[]>
  /** The revisions of open pull requests, with their titles, newest first. */
  listPullRequests(): Promise<{ title: string; revision: string }[]>
  /** The paths of the files in the folder `data`. @throws GiveUp for too many */
  listData(revision: string): Promise<string[]>
  /** Uploads what the hub does not have and commits all; resolves with the id of the commit. */
  commit(request: CommitRequest): Promise<string>
}

/** Each function throws HubRefused, NoAnswer, or OutsideFault for an answer that it cannot read. */
export function openHubRepo(access: HubAccess, repoId: string): HubRepo {
  const { url: hubUrl } = access.outbound.hub
  const fetch = openHubFetch(access)
  const path = `/api/datasets/${repoId}`
  async function ask(target: string, body?: object) {
    return fetch(`${hubUrl}${target}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', Authorization: `Bearer ${TOKEN_PLACEHOLDER}` },
    })
  }
  async function call<S extends Joi.Schema>(schema: S, target: string, body?: object) {
    return readAs(schema, await readJson(await ask(target, body)))
  }
  async function create(isPrivate: boolean) {
    const [organization, name] = repoId.split('/')
    const visibility = isPrivate ? 'private' : 'public'
    await call(Joi.any(), '/api/repos/create', { type: 'dataset', organization, name, visibility })
  }
  return {
    async open(isPrivate) {
      try {
        await create(isPrivate)
      } catch (error) {
        // 403: the token may write here and make nothing; whether the repository is there shows below.
        if (!isRefused(error, 409, 403)) throw error
        const info = await call(REPO, path).catch((missing: unknown) => {
          throw isRefused(missing, 404) ? error : missing
        })
        return { isPublic: !info.private }
      }
      return { isPublic: !isPrivate }
    },
    async listCommits(revision) {
      const target = `${path}/commits/${encodeURIComponent(revision)}?limit=${COMMITS_READ}`
      const commits = await call(COMMITS, target).catch((error: unknown) => {
        throw isRefused(error, 404)
          ? new HubRefused({ ...error.refusal, asked: 'revision' })
          : error
      })
      return commits.slice(0, COMMITS_READ)
    },
    async listPullRequests() {
      const query = 'type=pull_request&status=open&sort=recently-created'
      const { discussions } = await call(DISCUSSIONS, `${path}/discussions?${query}`)
      return discussions.map(({ num, title }) => ({ title, revision: `refs/pr/${num}` }))
    },
    async listData(revision) {
      const paths: string[] = []
      try {
        for await (const page of readPages(
          ask,
          `${path}/tree/${encodeURIComponent(revision)}/data`,
        )) {
          for (const entry of readAs(TREE, page)) paths.push(entry.path)
        }
      } catch (error) {
        // There may be no such folder.
        if (!isRefused(error, 404)) throw error
      }
      return paths
    },
    commit: (request) =>
      commitFiles({ url: hubUrl, repoId, fetch, signal: access.signal }, request),
  }
}

/** Where people see a commit. */
export function commitUrl(hubUrl: string, repoId: string, oid: string) {
  return `${hubUrl}/datasets/${repoId}/commit/${oid}`
}

function isRefused(error: unknown, ...statuses: number[]): error is HubRefused {
  if (!(error instanceof HubRefused)) return false
  const { asked, status } = error.refusal
  return asked !== 'storage' && statuses.includes(status)
}

const REPO = shape({ private: bool() })
const COMMITS = listOf(
  shape({ id: commitId(), title: anyText() }, { message: anyText().default('') }),
)
const DISCUSSIONS = shape({
  discussions: listOf(shape({ num: Joi.number().integer(), title: anyText() })),
})
const TREE = listOf(shape({ path: anyText() }))
const COMMITS_READ = 20
