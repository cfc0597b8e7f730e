import t from 'tap'
import { buildVersion, pathOf } from '../../../support/built-dataset.ts'
import type { HubCall } from '../../../support/hub.ts'
import { openPushing, REPO, TOKEN } from '../../../support/pushed-version.ts'

const isUpload = ({ method, isStorage }: HubCall) => isStorage && method === 'PUT'

t.test('a push', async (t) => {
  const { hub, request, endOf, readPush, startPusher, parquet, version, api, path } =
    await openPushing(t)
  await startPusher()
  const job = await endOf(await request({ commit_message: 'for a first look' }))

  t.test('makes a private repository with the files of the version in one commit', async (t) => {
    t.match(job, { state: 'succeeded', progress: { percent: 100, unit: 'files' } })
    const repo = hub.repos.all.get(REPO)
    t.equal(repo?.isPrivate, true)
    const commits = repo?.commits.get('main') ?? []
    t.equal(commits.length, 2)
    t.equal(commits[0]?.title, `version ${version.id}: for a first look`)
    const files = repo?.files.get('main') ?? new Map<string, string>()
    const paths = ['README.md', 'provenance.json', ...parquet.map(({ path }) => path)]
    t.same([...files.keys()].sort(), paths.sort())
    t.ok(parquet.length > 2, 'there are several')
    for (const { path, sha256, size_bytes } of parquet) {
      t.equal(files.get(path), sha256)
      t.equal(hub.stored.get(sha256), size_bytes)
    }
    t.same(hub.faults, [])
  })

  t.test('sends large files in parts and small ones whole', async (t) => {
    const uploads = hub.calls.filter(isUpload).map(({ path }) => path.split('/').length)
    t.ok(uploads.includes(5), 'parts')
    t.same(
      [...new Set(uploads)].filter((depth) => depth !== 3 && depth !== 5),
      [],
    )
  })

  t.test('describes the version', async (t) => {
    const files = hub.repos.all.get(REPO)?.files.get('main')
    const provenance = JSON.parse(files?.get('provenance.json') ?? '')
    t.match(provenance, { version_id: version.id, content_hash: version.content_hash })
    t.same(
      provenance.files.map(({ sha256 }: { sha256: string }) => sha256),
      parquet.map(({ sha256 }) => sha256),
    )
    t.match(files?.get('README.md') ?? '', /^---\n/)
  })

  t.test('tells its commit and its files', async (t) => {
    const bytes = parquet.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
    const push = await readPush()
    const [commit] = hub.repos.all.get(REPO)?.commits.get('main') ?? []
    t.match(push, {
      status: 'succeeded',
      repo_id: REPO,
      revision: 'main',
      commit_oid: commit?.id,
      files_total: parquet.length + 2,
      files_done: parquet.length + 2,
      error: null,
    })
    t.ok(push.bytes_done > bytes)
    t.match(job.result, { push_id: push.id, commit_oid: push.commit_oid })
    const { body } = await api.get(`/datasets/${version.dataset_id}/pushes`)
    t.same(body.pushes, [push])
  })

  t.test('sends and commits nothing when it is there already', async (t) => {
    const before = hub.calls.length
    const again = await endOf(await request())
    t.equal(again.result.commit_oid, job.result.commit_oid)
    t.equal(hub.repos.all.get(REPO)?.commits.get('main')?.length, 2)
    t.notOk(hub.calls.slice(before).some(isUpload))
    t.equal((await api.get(`${path}/pushes`)).body.total, 2)
  })

  t.test('commits the card anew when it has changed, and sends no file again', async (t) => {
    const before = hub.calls.length
    await api.patch(`/datasets/${version.dataset_id}`, { license: 'cc-by-4.0' })
    const again = await endOf(await request())
    t.not(again.result.commit_oid, job.result.commit_oid)
    const repo = hub.repos.all.get(REPO)
    t.equal(repo?.commits.get('main')?.length, 3)
    t.match(repo?.files.get('main')?.get('README.md'), /^license: "cc-by-4.0"$/m)
    t.notOk(hub.calls.slice(before).some(isUpload))
    const last = await endOf(await request())
    t.equal(last.result.commit_oid, again.result.commit_oid)
  })

  t.test('commits on top of what others commit meanwhile', async (t) => {
    hub.repos.make('acme/busy', true)
    let moves = 3
    hub.interfere = ({ path }) => {
      if (path.endsWith('/commit/main') && moves-- > 0) hub.repos.commitMeanwhile('acme/busy')
      return undefined
    }
    t.match(await endOf(await request({ repo_id: 'acme/busy' })), { state: 'succeeded' })
    const titles = hub.repos.all
      .get('acme/busy')
      ?.commits.get('main')
      ?.map(({ title }) => title)
    t.same(titles, [`version ${version.id}`, 'other', 'other', 'other', 'initial commit'])
  })

  t.test('opens one pull request where that is asked for', async (t) => {
    hub.interfere = () => undefined
    const first = await endOf(await request({ repo_id: 'acme/pulls', create_pr: true }))
    const second = await endOf(await request({ repo_id: 'acme/pulls', create_pr: true }))
    const repo = hub.repos.all.get('acme/pulls')
    t.equal(repo?.pulls.length, 1)
    t.equal(repo?.commits.get('main')?.length, 1)
    t.equal(first.result.commit_oid, repo?.commits.get('refs/pr/1')?.[0]?.id)
    t.equal(second.result.commit_oid, first.result.commit_oid)
  })
})

t.test('a push of another version', async (t) => {
  const { hub, request, endOf, startPusher, version, api, parquet } = await openPushing(t)
  await startPusher()
  await endOf(await request())
  const shown = hub.repos.all.get(REPO)?.files.get('main')
  const others = ['data/notes.md', 'data/train.parquet']
  for (const path of others) shown?.set(path, 'theirs')
  // More than a hub lists at once.
  for (let i = 0; i < 2500; i++) {
    shown?.set(`data/train-${String(i).padStart(5, '0')}-of-02500.parquet`, 'older')
  }
  const filters = { max_rows: 2 }
  const smaller = await buildVersion(api, version.dataset_id, { filters })
  const pushed = await api.post(`${pathOf(smaller)}/push`, { repo_id: REPO, token: TOKEN })
  await endOf(pushed.body.id)

  t.test('deletes the Parquet files that the one before it left, and no others', async (t) => {
    const files = hub.repos.all.get(REPO)?.files.get('main') ?? new Map<string, string>()
    const left = parquet.filter(({ path, sha256 }) => files.get(path) === sha256)
    t.same(left, [])
    t.notOk([...files.values()].includes('older'))
    for (const path of ['README.md', ...others]) t.ok(files.has(path), path)
  })

  t.test('can be undone by pushing the first one again', async (t) => {
    const again = await endOf(await request())
    t.equal(again.state, 'succeeded')
    const files = hub.repos.all.get(REPO)?.files.get('main') ?? new Map<string, string>()
    for (const { path, sha256 } of parquet) t.equal(files.get(path), sha256)
  })
})
