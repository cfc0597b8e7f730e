import { createHash } from 'node:crypto'

export interface Refusal {
  readonly status: number
  readonly error?: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Commit {
  readonly id: string
  readonly title: string
  readonly message: string
}

/** A repository of the hub: its branches, and the files of each as texts or SHA-256 of large ones. */
export interface Repo {
  isPrivate: boolean
  readonly commits: Map<string, Commit[]>
  readonly files: Map<string, Map<string, string>>
  readonly pulls: { readonly num: number; readonly title: string }[]
}

/** The repositories of a hub on loopback, and its operations on them. */
export function openRepos(isStored: (oid: string) => boolean) {
  const all = new Map<string, Repo>()
  let made = 0

  function make(name: string, isPrivate: boolean) {
    const first = { id: idOf(++made), title: 'initial commit', message: '' }
    const commits = new Map([['main', [first]]])
    all.set(name, { isPrivate, commits, files: new Map([['main', new Map()]]), pulls: [] })
  }

  function create(text: string) {
    const { organization, name, visibility } = JSON.parse(text)
    const id = `${organization}/${name}`
    if (all.has(id)) return { status: 409, error: 'You already created this dataset repo' }
    make(id, visibility === 'private')
    return { status: 200, json: { url: `/datasets/${id}`, id } }
  }

  function commit(repo: Repo, revision: string, isPull: boolean, text: string) {
    const [header, ...operations] = text.split('\n').map((line) => JSON.parse(line) as Operation)
    const {
      summary: title,
      description: message,
      parentCommit,
    } = (header as Operation).value as Header
    const commits = repo.commits.get(revision) ?? []
    if (parentCommit !== undefined && parentCommit !== commits[0]?.id) {
      return { status: 412, error: 'A commit has happened since' }
    }
    const files = new Map(repo.files.get(revision))
    for (const { key, value } of operations) {
      if (key === 'deletedFile') files.delete(value.path)
      if (key === 'file') files.set(value.path, Buffer.from(value.content, 'base64').toString())
      if (key === 'lfsFile') {
        if (!isStored(value.oid)) return { status: 422, error: `${value.path} was not uploaded` }
        files.set(value.path, value.oid)
      }
    }
    const num = repo.pulls.length + 1
    const into = isPull ? `refs/pr/${num}` : revision
    if (isPull) repo.pulls.unshift({ num, title })
    const id = idOf(++made)
    repo.commits.set(into, [{ id, title, message: message ?? '' }, ...commits])
    repo.files.set(into, files)
    return { status: 200, json: { commitOid: id, commitUrl: `https://hub.example/commit/${id}` } }
  }

  function answerOf(repo: Repo, what: string, revision: string, query: URLSearchParams) {
    const commits = repo.commits.get(revision)
    if (!commits) return { status: 404, error: `Invalid rev id: ${revision}` }
    if (what === 'commits') return { status: 200, json: commits }
    const paths = [...(repo.files.get(revision)?.keys() ?? [])]
    const data = paths.filter((path) => path.startsWith('data/'))
    if (data.length === 0) return { status: 404, error: 'data does not exist' }
    const [at, limit] = [query.get('cursor'), query.get('limit')].map(Number) as [number, number]
    const json = data.slice(at, at + limit).map((path) => ({ type: 'file', path }))
    if (at + limit >= data.length) return { status: 200, json }
    // A hub may name itself otherwise than it is reached.
    const link = `<https://hub.example/tree?limit=${limit}&cursor=${at + limit}>; rel="next"`
    return { status: 200, json, headers: { link } }
  }

  return {
    all,
    make,
    /** Another's commit. */
    commitMeanwhile(name: string) {
      all
        .get(name)
        ?.commits.get('main')
        ?.unshift({ id: idOf(++made), title: 'other', message: '' })
    },
    answer(method: string, path: string, query: URLSearchParams, text: string) {
      if (path === '/api/repos/create') return create(text)
      const [, name = '', what, encoded = ''] = PATH.exec(path) ?? []
      const repo = all.get(name)
      if (!repo) return { status: 404, error: 'Repository not found' }
      const revision = decodeURIComponent(encoded)
      if (what === undefined) return { status: 200, json: { id: name, private: repo.isPrivate } }
      if (what === 'discussions') return { status: 200, json: { discussions: repo.pulls } }
      if (what === 'preupload') return { status: 200, json: preupload(text) }
      if (what === 'commit' && method === 'POST') {
        return commit(repo, revision, query.get('create_pr') === '1', text)
      }
      return answerOf(repo, what, revision, query)
    },
  }
}

function preupload(text: string) {
  const { files } = JSON.parse(text) as { files: { path: string }[] }
  return {
    files: files.map(({ path }) => ({
      path,
      uploadMode: path.endsWith('.parquet') ? 'lfs' : 'regular',
    })),
  }
}

function idOf(n: number) {
  return createHash('sha1').update(String(n)).digest('hex')
}

const PATH = /^\/api\/datasets\/([^/]+\/[^/]+)(?:\/(\w+)(?:\/([^/]+))?(?:\/data)?)?$/

interface Header {
  readonly summary: string
  readonly description?: string
  readonly parentCommit?: string
}
interface Operation {
  readonly key: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly value: any
}
