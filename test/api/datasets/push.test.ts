import t from 'tap'
import { buildDataset, buildVersion, pathOf } from '../../support/built-dataset.ts'
import { openPushing, REPO, TOKEN } from '../../support/pushed-version.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

const TRACE = {
  trace_id: 'theirs',
  messages: [
    { role: 'user', content: 'question' },
    { role: 'assistant', content: 'answer' },
  ],
}

t.test('a request to push', async (t) => {
  const { service, org, api, version, path, request, builder } = await openPushing(t)
  const push = (body: object, at = path) =>
    api.post(`${at}/push`, { repo_id: REPO, token: TOKEN, ...body })

  t.test('answers 202 with the job, whose payload has no token', async (t) => {
    const answer = await push({})
    t.equal(answer.status, 202)
    t.match(answer.body, { kind: 'dataset.push', state: 'queued' })
    t.equal(answer.headers['location'], `/api/v1/jobs/${answer.body.id}`)
    t.equal(answer.body.links.result, `/api/v1${path}/pushes`)
    const [job] = await service.sql`select request from jobs where id = ${answer.body.id}`
    t.same(Object.keys(job?.['request']), ['push_id'])
    const { body } = await api.get(`${path}/pushes`)
    t.match(body.pushes[0], {
      job_id: answer.body.id,
      version_id: version.id,
      status: 'queued',
      repo_id: REPO,
      revision: 'main',
      private: true,
      create_pr: false,
      commit_oid: null,
      files_total: null,
      files_done: 0,
      bytes_done: 0,
    })
  })

  t.test('answers 400 without any token', async (t) => {
    t.match(await push({ token: null }), { status: 400, body: { code: 'no_token' } })
  })

  t.test('answers 400 for rows that are not redacted and a public repository', async (t) => {
    const refused = { status: 400, body: { code: 'unredacted' } }
    t.match(await push({ private: false }), refused)
    t.equal((await push({ private: false, allow_unredacted: true })).status, 202)
    const options = { redact: ['default'] }
    const redacted = await buildVersion(api, version.dataset_id, { options })
    const at = `/datasets/${version.dataset_id}/versions/${redacted.id}`
    t.equal((await push({ private: false }, at)).status, 202)
    await service.sql`update dataset_versions set redaction = null where id = ${redacted.id}`
    t.match(await push({ private: false }, at), refused, 'asked for, and not done')
  })

  t.test('answers 409 for a version that is not ready', async (t) => {
    await builder.stop()
    const build = `/datasets/${version.dataset_id}/build`
    const { body } = await api.post(build, {}, { prefer: 'respond-async' })
    const at = `/datasets/${version.dataset_id}/versions/${body.id}`
    t.equal((await push({}, at)).status, 409)
  })

  t.test('answers 422 for names that lead elsewhere, and does not repeat the token', async (t) => {
    const faulty = [
      ...['acme', 'acme/', '/x', '../x', 'x/..', 'a/b/c', 'a b/c', 'a/b?c'].map((repo_id) => ({
        repo_id,
      })),
      ...['', '..', 'a/../b', '/a', 'a/', 'a b', 'a?b'].map((revision) => ({ revision })),
      { token: `${TOKEN}\r\nx: y` },
      ...['a\n\npush x', 'a\0'].map((commit_message) => ({ commit_message })),
    ]
    for (const body of faulty) {
      const answer = await push(body)
      t.equal(answer.status, 422, JSON.stringify(body))
      t.notMatch(JSON.stringify(answer.body), TOKEN)
    }
    for (const revision of ['main', 'refs/heads/x', 'v1.0', 'a/b..c']) {
      t.equal((await push({ revision })).status, 202, revision)
    }
  })

  t.test('is audited', async (t) => {
    const [event] = await service.sql`
      select data, actor_key_id, resource_id from audit_events
      where org_id = ${org.orgId} and action = 'dataset.pushed' order by id limit 1`
    t.match(event, {
      actor_key_id: org.keyId,
      resource_id: version.dataset_id,
      data: { version_id: version.id, repo_id: REPO, private: true },
    })
  })

  t.test('is listed newest first, in pages', async (t) => {
    const all = await api.get(`/datasets/${version.dataset_id}/pushes`)
    t.ok(all.body.total >= 4)
    const first = await api.get(`/datasets/${version.dataset_id}/pushes?limit=2`)
    const cursor = first.body.next_cursor
    const second = await api.get(`/datasets/${version.dataset_id}/pushes?limit=2&cursor=${cursor}`)
    t.same([...first.body.pushes, ...second.body.pushes], all.body.pushes.slice(0, 4))
    const ofVersion = await api.get(`${path}/pushes`)
    t.equal(ofVersion.body.total, all.body.total - 1)
  })

  t.test('ends with its dataset', async (t) => {
    const id = await request()
    t.equal((await api.delete(`/datasets/${version.dataset_id}`)).status, 204)
    const job = await api.get(`/jobs/${id}`)
    t.match(job.body, { state: 'canceled' })
    t.same(await service.sql`select * from job_secrets`, [])
  })
})

t.test('a token of the installation', async (t) => {
  const env = { HUB_TOKEN: TOKEN }
  const { hub, api, path, service, startPusher, endOf } = await openPushing(t, { env })
  const { status, body } = await api.post(`${path}/push`, { repo_id: REPO })
  t.equal(status, 202, 'takes the place of one in the request')
  t.same(await service.sql`select * from job_secrets`, [])
  await startPusher()
  t.match(await endOf(body.id), { state: 'succeeded' })

  t.test('does not let an organization push into a repository of another', async (t) => {
    const other = await service.makeOrganization()
    const client = service.client(other.key)
    await storeJudged(service.sql, other, [TRACE])
    const theirs = await buildDataset(client, 'sft')
    const pushTheirs = async (body: object) => {
      const answer = await client.post(`${pathOf(theirs)}/push`, body)
      const ended = await until(async () => {
        const job = await client.get(`/jobs/${answer.body.id}`)
        return job.body.done && job.body
      })
      return ended
    }
    const before = hub.repos.all.get(REPO)?.commits.get('main')?.length
    for (const repo_id of [REPO, REPO.toUpperCase()]) {
      const taken = await pushTheirs({ repo_id })
      t.match(taken, { state: 'failed', error: { code: 'hub_repo_taken', retryable: false } })
    }
    t.equal(hub.repos.all.get(REPO)?.commits.get('main')?.length, before)
    t.match(await pushTheirs({ repo_id: 'acme/free' }), { state: 'succeeded' })
    t.match(await pushTheirs({ repo_id: REPO, token: TOKEN }), { state: 'succeeded' })
    const again = await api.post(`${path}/push`, { repo_id: REPO })
    t.match(await endOf(again.body.id), { state: 'succeeded' }, 'it stays the first one’s')
  })
})
