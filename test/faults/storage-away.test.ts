import { once } from 'node:events'
import { rename, rm, truncate } from 'node:fs/promises'
import { get as request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { showStorage, openMetrics } from '../../ops/metrics.ts'
import { workerHealth } from '../../ops/worker-health.ts'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { importTracesHandler } from '../../workers/import/import-traces.ts'
import { buildVersion, pathOf } from '../support/built-dataset.ts'
import type { Version } from '../support/built-dataset.ts'
import { PREFIX, startS3 } from '../support/s3.ts'
import type { S3Interference } from '../support/s3.ts'
import { openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { hello, storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'

const LINES = { 'content-type': 'application/x-ndjson' }
const AWAY = {
  status: 503,
  headers: { 'retry-after': '30' },
  body: { code: 'storage_unavailable' },
}

t.test('F25: the storage is away', async (t) => {
  for (const [kind, open] of Object.entries({ folder: openOnFolder, bucket: openOnS3 }))
    t.test(`a ${kind}`, async (t) => passThrough(t, await open(t)))
})

async function passThrough(t: Test, { service, takeAway, damage }: Stage) {
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  await storeJudged(service.sql, org, [{ trace_id: 'one', messages: hello('one') }])
  const { body: dataset } = await api.post('/datasets', { name: 'd', dataset_type: 'sft' })
  const builders = await service.startWorkers([buildDatasetHandler], 1)
  const version = await buildVersion(api, dataset.id)
  await service.server.start()
  const upload = (prefer = 'wait=20') =>
    api.call('POST', '/import/jsonl', '{"agent_name":"a"}', { ...LINES, prefer })

  t.test('what needs it is told so, and the rest is served', async (t) => {
    const metrics = openMetrics()
    showStorage(metrics, service.context.storage)
    const isUp = async () => /^adl_storage_up (\d)/m.exec(await metrics.metrics())?.[1]
    const readiness = (needsStorage: boolean) => {
      const { context, sql, boss } = service
      const storage = needsStorage ? context.storage : undefined
      const parts = { sql, boss, pools: builders.pools, storage, concurrency: {} }
      return workerHealth(parts, () => false, context.now).findUnready()
    }
    t.equal(await isUp(), '1')
    t.same(await readiness(true), [])
    const restore = await takeAway()
    t.match(await upload(), AWAY)
    t.match(await api.get(`${pathOf(version)}/export`), AWAY)
    t.match(await api.get(`${pathOf(version)}/rows`), AWAY)
    t.equal((await api.post('/traces', { agent_name: 'a' })).status, 201)
    t.match(await api.get('//readyz'), { status: 503, body: { status: 'storage is away' } })
    t.match(await readiness(true), [/^The storage .* (does not have the mark|cannot be used)/])
    t.same(await readiness(false), [], 'a process that does not need it is ready')
    t.equal(await isUp(), '0')
    await restore()
    await until(async () => (await api.get('//readyz')).status === 200)
    t.equal(await isUp(), '1')
    t.same(await readiness(true), [])
    t.equal((await api.get(`${pathOf(version)}/export`)).status, 200)
    t.equal((await upload('respond-async')).status, 202)
  })

  t.test('a client in the middle of a long upload is answered', async (t) => {
    const restore = await takeAway()
    const answer = await fetch(`${service.server.info.uri}/api/v1/import/jsonl`, {
      method: 'POST',
      headers: { ...LINES, authorization: `Bearer ${org.key}` },
      body: Buffer.alloc(4 << 20, ' '),
    })
    t.equal(answer.status, 503)
    await restore()
  })

  t.test('jobs wait for it without losing an attempt', async (t) => {
    const id = (await until(async () => {
      const answer = await upload('respond-async')
      return answer.status === 202 && answer.body.job_id
    })) as string
    const restore = await takeAway()
    await service.startWorkers([importTracesHandler], 1)
    await until(async () => {
      const attempts = await service.sql`
        select from job_attempts where job_id = ${id} and outcome = 'released'`
      return attempts.length > 0
    })
    t.match((await api.get(`/jobs/${id}`)).body, { state: 'queued' })
    await restore()
    // The next run is due in half a minute.
    const retries = new Set<number>()
    await until(async () => {
      const waiting = await service.sql<{ retry_count: number }[]>`
        update pgboss.job set start_after = now() where state < 'active' and data->>'job_id' = ${id}
        returning retry_count`
      for (const { retry_count } of waiting) retries.add(retry_count)
      return (await api.get(`/jobs/${id}`)).body.state === 'succeeded'
    })
    t.same([...retries], [0])
  })

  t.test('a file that is missing, or not whole, is a problem of its own', async (t) => {
    const { version, key } = await buildAnother()
    const missing = { status: 500, body: { code: 'file_missing' } }
    await damage(key, 1)
    t.match(await api.get(`${pathOf(version)}/export`), missing)
    await damage(key, 'missing')
    t.match(await api.get(`${pathOf(version)}/export`), missing)
    t.match(await api.get(`${pathOf(version)}/rows`), missing)
    t.equal((await api.get(`/datasets/${dataset.id}`)).status, 200)
  })

  t.test(
    'a download that fails in its middle breaks off, and does not end as if whole',
    async (t) => {
      const { version, key } = await buildAnother()
      const size = 64 << 20
      await damage(key, size)
      await service.sql`
      update dataset_files set size_bytes = ${size} where version_id = ${version.id}`
      const path = `/api/v1${pathOf(version)}/export`
      const headers = { authorization: `Bearer ${org.key}` }
      const asking = request(`${service.server.info.uri}${path}`, { headers })
      const [answer] = (await once(asking, 'response')) as [IncomingMessage]
      t.match(answer, { statusCode: 200, headers: { 'content-length': String(size) } })
      await once(answer, 'readable')
      await damage(key, 4096)
      answer.resume()
      await t.rejects(once(answer, 'end'), { code: 'ECONNRESET' })
    },
  )

  async function buildAnother() {
    const built: Version = await buildVersion(api, dataset.id)
    const [stored] = await service.sql<{ storage_key: string }[]>`
      select storage_key from dataset_files
      where version_id = ${built.id} and format = 'jsonl' and row_count > 0`
    return { version: built, key: stored?.storage_key ?? '' }
  }
}

interface Stage {
  readonly service: Service
  /** Takes it away until the returned function is called. */
  takeAway(): Promise<() => Promise<void>>
  /** Makes a file as long as that, or lose it. */
  damage(key: string, size: number | 'missing'): Promise<void>
}

/** A folder, which is taken away as when it is not mounted any more. */
async function openOnFolder(t: Test): Promise<Stage> {
  const service = await openService(t)
  const { storageFolder: folder } = service
  return {
    service,
    async takeAway() {
      await rename(folder, `${folder}.away`)
      return () => rename(`${folder}.away`, folder)
    },
    async damage(key, size) {
      await (size === 'missing' ? rm(join(folder, key)) : truncate(join(folder, key), size))
    },
  }
}

/** An S3, which fails in another way each time. */
async function openOnS3(t: Test): Promise<Stage> {
  const s3 = await startS3(t)
  const service = await openService(t, { env: s3.env })
  const faults: S3Interference[] = [
    { status: 503, code: 'SlowDown' },
    'silent',
    { status: 403, code: 'AccessDenied' },
  ]
  return {
    service,
    async takeAway() {
      const fault = faults.shift() ?? 'reset'
      s3.interfere = () => fault
      return async () => void (s3.interfere = () => undefined)
    },
    async damage(key, size) {
      const name = `${PREFIX}/${key}`
      const stored = s3.objects().get(name)
      if (!stored) throw new Error(`There is no ${key}`)
      if (size === 'missing') return void s3.objects().delete(name)
      const bytes = Buffer.alloc(size)
      stored.bytes.copy(bytes)
      s3.objects().set(name, { ...stored, bytes, etag: `"of ${size} bytes"` })
      // What is under way of the file that was there ends.
      s3.cut(name)
    },
  }
}
