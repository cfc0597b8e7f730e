import { commitIter } from '@huggingface/hub'
import type { CommitOperation } from '@huggingface/hub'
import Joi from 'joi'
import type { HubCommit } from '../../jobs/rules/datasets/push-commit.ts'
import { anyText, bool, listOf, shape, text } from '../../jobs/shape.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { checkAnswer, readAs, readJson } from './hub-answers.ts'
import { HubRefused, openHubFetch, TOKEN_PLACEHOLDER } from './hub-fetch.ts'
import type { HubAccess, HubFetch } from './hub-fetch.ts'

/** A repository of the hub, for datasets. */
export interface HubRepo {
  /** Makes it unless it is there. @returns whether strangers may read it */
  open(isPrivate: boolean): Promise<{ isPublic: boolean }>
  /** The newest commits of a revision, newest first, at most `COMMITS_READ`. */
  listCommits(revision: string): Promise<HubCommit[]>
  /** The revisions of open pull requests, with their titles, newest first. */
  listPullRequests(): Promise<{ title: string; revision: string }[]>
  /** The paths of the files in the folder `data`. @throws GiveUp for more than `MAX_PAGES` of them */
  listData(revision: string): Promise<string[]>
  /** Uploads what the hub does not have and commits all; resolves with the id of the commit. */
  commit(request: CommitRequest): Promise<string>
}

export interface CommitRequest {
  readonly title: string
  readonly description: string
  readonly revision: string
  /** What the revision has to be at. */
  readonly parent: string | undefined
  readonly isPullRequest: boolean
  readonly operations: CommitOperation[]
  /** Called when the hub has a file that is not part of the commit itself. */
  readonly onUploaded: (path: string) => void
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
      const target = `${path}/tree/${encodeURIComponent(revision)}/data?limit=${PAGE_FILES}`
      const paths: string[] = []
      let next: string | null = target
      for (let page = 1; next !== null; page++) {
        if (page > MAX_PAGES) throw new GiveUp('hub_rejected', TOO_MANY_FILES)
        const response: Response | null = await ask(next).catch((error: unknown) => {
          // There is no such folder.
          if (isRefused(error, 404)) return null
          throw error
        })
        if (!response) break
        for (const entry of readAs(TREE, await readJson(response))) paths.push(entry.path)
        const cursor = nextCursor(response.headers.get('link'))
        next = cursor && `${target}&cursor=${encodeURIComponent(cursor)}`
      }
      return paths
    },
    async commit({ revision, parent, isPullRequest, operations, onUploaded, ...words }) {
      const end = new AbortController()
      const signal = AbortSignal.any([access.signal, end.signal])
      const events = commitIter({
        ...words,
        repo: { type: 'dataset', name: repoId },
        operations,
        branch: revision,
        isPullRequest,
        ...(parent !== undefined && { parentCommit: parent }),
        hubUrl,
        accessToken: TOKEN_PLACEHOLDER,
        useXet: false,
        fetch: forLibrary(fetch, (error) => end.abort(error)) as typeof globalThis.fetch,
        abortSignal: signal,
      })
      try {
        return await Promise.race([follow(events, onUploaded), rejectedBy(signal)])
      } finally {
        end.abort()
      }
    },
  }
}

/**
 * Looks at what the library reads of answers before it does.
 * @param onFault called with what a request fails with: the library loses errors that come while events
 *   of its own wait
 */
function forLibrary(fetch: HubFetch, onFault: (error: unknown) => void): HubFetch {
  return async (target, init) => {
    try {
      return await checkAnswer(target, init?.body, await fetch(target, init))
    } catch (error) {
      onFault(error)
      throw error
    }
  }
}

/** Takes the events of a commit to its end. */
async function follow(
  events: ReturnType<typeof commitIter>,
  onUploaded: (path: string) => void,
): Promise<string> {
  for (;;) {
    const { done, value } = await events.next()
    if (done) return readAs(COMMITTED, value?.commit).oid
    if (value.event === 'fileProgress' && value.state === 'uploading' && value.progress === 1) {
      onUploaded(value.path)
    }
  }
}

/** Fails with the reason of a signal. */
function rejectedBy(signal: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  return promise
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

/**
 * Where the next page of a list begins; null for the last one. No more of the address is used, because a
 * hub may name itself otherwise than it is reached.
 */
function nextCursor(link: string | null) {
  const [, next = ''] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? []
  return URL.parse(next)?.searchParams.get('cursor') ?? null
}

const commitId = () => text(128).pattern(/^\w+$/)
const REPO = shape({ private: bool() })
const COMMITS = listOf(
  shape({ id: commitId(), title: anyText() }, { message: anyText().default('') }),
)
const DISCUSSIONS = shape({
  discussions: listOf(shape({ num: Joi.number().integer(), title: anyText() })),
})
const TREE = listOf(shape({ path: anyText() }))
const COMMITTED = shape({ oid: commitId() })
const COMMITS_READ = 20
const PAGE_FILES = 1000
/** Folders of more files are nothing that a hub takes. */
const MAX_PAGES = 100
const TOO_MANY_FILES = `The folder data has more than ${PAGE_FILES * MAX_PAGES} files`
