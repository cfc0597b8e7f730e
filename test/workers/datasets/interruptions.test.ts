import { glob, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildDataset, buildVersion, pathOf, readJsonl } from '../../support/built-dataset.ts'
import type { Version } from '../../support/built-dataset.ts'
import { makeRacingHandler } from '../../support/racing-build.ts'
import { openService } from '../../support/service.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { watchHandler } from '../../support/watched-handler.ts'

t.test('builds that do not go through at once', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  const traces = Array.from({ length: 30 }, (_, n) => ({
    trace_id: `t-${n}`,
    messages: hello(`${n}`),
  }))
  await storeJudged(service.sql, org, traces)
  const { body: dataset } = await api.post('/datasets', { name: 'd', dataset_type: 'sft' })

  const start = async () => {
    const answer = await api.post(`/datasets/${dataset.id}/build`, {}, { prefer: 'respond-async' })
    return answer.body as Version
  }
  const statusOf = async (version: Version) =>
    (await api.get(pathOf(version))).body.status as string
  /** Folders of builds, in those of their processes. */
  const scratch = () => Array.fromAsync(glob('*/run-*', { cwd: service.config.SCRATCH_DIR }))
  const storedRows = async ({ id }: Version) => {
    const [row] = await service.sql<{ n: number }[]>`
      select count(*) as n from dataset_version_rows where version_id = ${id}`
    return row?.n
  }

  const watched = watchHandler(buildDatasetHandler)

  /** Stops the build where it touches its row list, until `work` is done. */
  async function whileHeld(version: Version, work: () => Promise<unknown>) {
    await service.sql.begin(async (tx) => {
      await tx`lock table dataset_version_rows in access exclusive mode`
      const worker = await service.startWorkers([watched.handler], 1)
      await until(
        async () => (await countLockWaits(service.sql, { table: 'dataset_version_rows' })) === 1,
      )
      t.equal(await statusOf(version), 'building')
      await work()
      return worker
    })
  }

  t.test('a build that waits is canceled at once', async (t) => {
    const version = await start()
    t.equal(await statusOf(version), 'queued')
    t.equal((await api.get(`${pathOf(version)}/export`)).status, 409)
    t.match(await api.post(`${pathOf(version)}/cancel`), {
      status: 200,
      body: { status: 'canceled' },
    })
    t.equal((await api.post(`${pathOf(version)}/cancel`)).status, 200, 'again changes nothing')
  })

  t.test(
    'a build that runs is canceled at its next safe point and leaves nothing behind',
    async (t) => {
      const version = await start()
      await whileHeld(version, async () => {
        t.match(await api.post(`${pathOf(version)}/cancel`), {
          status: 202,
          body: { status: 'building' },
        })
        await watched.aborted()
      })
      await until(async () => (await statusOf(version)) === 'canceled')
      t.equal(await storedRows(version), 0)
      await until(async () => (await scratch()).length === 0)
      t.match(await api.get(`${pathOf(version)}/rows`), { status: 409 })
      t.match((await api.get(`/datasets/${dataset.id}`)).body, {
        current_version_id: null,
        version_count: 2,
      })
    },
  )

  t.test('what a killed worker left behind is taken back', async (t) => {
    const clean = await buildVersion(api, dataset.id)
    t.equal((await api.post(`${pathOf(clean)}/cancel`)).status, 409, 'it is ready')
    const [version] = await service.sql.begin(async (tx) => {
      await tx`lock table dataset_version_rows in access exclusive mode`
      const version = await start()
      await tx`
        insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
          score_fingerprint, split, shard, byte_offset, byte_length)
        select ${org.orgId}, ${version.id}, n, 'stale', sha256('x'), 'y', 'train', 0, 0, 1
        from generate_series(0, 99) n`
      return [version]
    })
    const built = await until(async () => {
      const { body } = await api.get(pathOf(version as Version))
      return body.status === 'ready' ? (body as Version) : undefined
    })
    t.equal(built.content_hash, clean.content_hash)
    t.equal(await storedRows(built), 30)
  })

  t.test('a build whose worker stops goes on in another one and costs no attempt', async (t) => {
    const other = await openService(t)
    const owner = await other.makeOrganization()
    await storeJudged(other.sql, owner, traces)
    const client = other.client(owner.key)
    const { body } = await client.post('/datasets', { name: 'd', dataset_type: 'sft' })
    const started = await client.post(`/datasets/${body.id}/build`, {}, { prefer: 'respond-async' })
    let stopped: Promise<void> | undefined
    await other.sql.begin(async (tx) => {
      await tx`lock table dataset_version_rows in access exclusive mode`
      const worker = await other.startWorkers([buildDatasetHandler], 1)
      await until(async () => (await client.get(pathOf(started.body))).body.status === 'building')
      stopped = worker.stop()
    })
    await stopped
    t.equal((await client.get(pathOf(started.body))).body.status, 'queued')
    await other.startWorkers([buildDatasetHandler], 1)
    await until(async () => (await client.get(pathOf(started.body))).body.status === 'ready')
    const [job] =
      await other.sql`select interruptions, attempt from jobs where id = ${started.body.job_id}`
    t.same(job, { interruptions: 1, attempt: 2 })
  })

  t.test(
    'a trace deleted while its version is built is counted, and the build goes on',
    async (t) => {
      const { client, build } = await openRace(async ({ client }) => {
        for (const id of ['t-3', 't-7']) t.equal((await client.delete(`/traces/${id}`)).status, 204)
        const [again] = traces.filter(({ trace_id }) => trace_id === 't-7')
        const other = { agent_name: 'agent', llm_calls: [{ rendered_input: again?.messages }] }
        await client.post('/traces', { ...other, trace_id: 't-7', tags: ['another one'] })
      })
      const version = await build()
      t.match(version, { status: 'ready', row_count: 28, dropped_counts: { deleted: 2 } })
      const rows = await readJsonl(client, version)
      const ids = rows.map(({ provenance }) => provenance.trace_id)
      t.same([ids.length, ids.includes('t-3'), ids.includes('t-7')], [28, false, false])
      const next = await buildVersion(client, version.dataset_id)
      t.equal(next.content_hash, version.content_hash, 'as if it had never been there')
      t.notOk('deleted' in next.dropped_counts)
    },
  )

  t.test('what is said and stored while a version is built is in the next one only', async (t) => {
    const { client, build } = await openRace(async ({ client, store }) => {
      const said = { corrected_output: 'Better' }
      t.equal((await client.post('/traces/t-3/annotations', said)).status, 201)
      await store([{ trace_id: 'late', messages: hello('late') }])
    })
    const version = await build()
    t.match(version, { row_count: 30, dropped_counts: {} })
    const texts = async (of: Version) =>
      (await readJsonl(client, of)).map(({ messages }) => messages.at(-1)?.content)
    t.notOk((await texts(version)).includes('Better'))
    const next = await buildVersion(client, version.dataset_id)
    t.equal(next.row_count, 31)
    t.ok((await texts(next)).includes('Better'))
  })

  /** A service in whose first build something happens between the list of its traces and their contents. */
  async function openRace(meanwhile: (race: Race) => Promise<void>) {
    const other = await openService(t)
    const owner = await other.makeOrganization()
    const store = (judged: typeof traces) => storeJudged(other.sql, owner, judged)
    const race = { client: other.client(owner.key), store }
    await store(traces)
    await other.startWorkers([makeRacingHandler(() => meanwhile(race))], 1)
    return { ...race, build: () => buildDataset(race.client, 'sft') }
  }
  type Race = {
    client: ReturnType<typeof service.client>
    store: (judged: typeof traces) => Promise<void>
  }

  t.test('a dataset deleted while a version is built takes the build with it', async (t) => {
    const doomed = await api.post('/datasets', { name: 'doomed', dataset_type: 'sft' })
    const started = await api.post(
      `/datasets/${doomed.body.id}/build`,
      {},
      { prefer: 'respond-async' },
    )
    t.equal((await api.delete(`/datasets/${doomed.body.id}`)).status, 204)
    const job = await until(async () => {
      const { body } = await api.get(`/jobs/${started.body.job_id}`)
      return body.done ? body : undefined
    })
    t.match(job.state, /canceled|failed|succeeded/)
    t.equal((await api.get(pathOf(started.body))).status, 404)
  })

  t.test('deleting a dataset deletes its files, and no trace', async (t) => {
    const version = await buildDataset(api, 'sft')
    t.equal((await readJsonl(api, version)).length, 30)
    const folder = join(service.storageFolder, 'datasets', org.orgId, version.id)
    const contents = new Set(version.files.map(({ sha256 }) => sha256))
    t.equal((await readdir(folder)).length, contents.size)
    t.equal((await api.delete(`/datasets/${version.dataset_id}`)).status, 204)
    t.same(await readdir(folder), [])
    const [count] = await service.sql`select count(*) as n from traces where org_id = ${org.orgId}`
    t.equal(count?.['n'], 30)
  })
})
