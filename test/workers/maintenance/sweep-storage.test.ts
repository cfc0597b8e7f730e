import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { access, glob, mkdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Storage } from '../../../jobs/storage.ts'
import { meterWorkers, openMetrics } from '../../../ops/metrics.ts'
import { reserveUpload } from '../../../sql/import/upload-reservations.ts'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { sweepStorageHandler } from '../../../workers/maintenance/sweep-storage.ts'
import { buildDataset } from '../../support/built-dataset.ts'
import { setJobState } from '../../support/job-state.ts'
import { PREFIX, startS3 } from '../../support/s3.ts'
import { openService } from '../../support/service.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

const LINES = { 'content-type': 'application/x-ndjson', prefer: 'respond-async' }

t.test('the sweep of the storage', async (t) => {
  const service = await openService(t)
  const { sql, config, storageFolder } = service
  const metrics = openMetrics()
  const worker = await service.startWorkers([buildDatasetHandler], 1, meterWorkers(metrics))
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  await storeJudged(sql, org, [{ trace_id: 'one', messages: hello('one') }])

  /** Runs the sweep, as if by a worker. */
  async function sweep(storage: Storage = worker.context.storage) {
    const run = { ...worker.context, storage, signal: new AbortController().signal }
    await sweepStorageHandler.work({}, run as never)
  }
  const pathOf = (key: string) => join(storageFolder, key)
  const isThere = (key: string) =>
    access(pathOf(key)).then(
      () => true,
      () => false,
    )
  async function age(key: string, hours: number) {
    const time = new Date(Date.now() - hours * 3_600_000)
    await utimes(pathOf(key), time, time)
  }
  async function put(key: string, hours: number, bytes = 100) {
    await mkdir(dirname(pathOf(key)), { recursive: true })
    await writeFile(pathOf(key), Buffer.alloc(bytes))
    await age(key, hours)
    return key
  }
  async function sweptBytes(kind: string) {
    const text = await metrics.metrics()
    return Number(new RegExp(`swept_total{kind="${kind}"} (\\d+)`).exec(text)?.[1] ?? 0)
  }
  const upload = async () => {
    const { body } = await api.call('POST', '/import/jsonl', '{"agent_name":"a"}', LINES)
    return `imports/${body.import_id}`
  }
  /** Files of a version, all of them old. */
  async function build() {
    const version = await buildDataset(api, 'sft')
    const files = await sql<{ storage_key: string }[]>`
      select storage_key from dataset_files where version_id = ${version.id}`
    const keys = files.map(({ storage_key }) => storage_key)
    for (const key of keys) await age(key, 48)
    return { version, keys }
  }

  t.test('takes old parts, and old files that no row names, and counts them', async (t) => {
    const before = await sweptBytes('part')
    const swept = [
      await put(`imports/${randomUUID()}.${randomUUID()}.part`, 25, 300),
      await put(`datasets/${org.orgId}/${randomUUID()}/ab.jsonl.${randomUUID()}.part`, 25, 30),
      await put(`look.${randomUUID()}.part`, 25, 3),
      await put(`imports/${randomUUID()}`, 25, 20),
      await put(`datasets/${org.orgId}/${randomUUID()}/ab.jsonl`, 25, 40),
    ]
    await sweep()
    for (const key of swept) t.equal(await isThere(key), false, key)
    t.equal((await sweptBytes('part')) - before, 333)
    t.equal(await sweptBytes('upload'), 20)
    t.equal(await sweptBytes('dataset'), 40)
  })

  t.test('leaves what is younger than a day, and what is not ours', async (t) => {
    const left = [
      await put(`imports/${randomUUID()}.${randomUUID()}.part`, 23),
      await put(`imports/${randomUUID()}`, 23),
      await put(`imports/${randomUUID()}`, -48),
      await put('imports/notes.txt', 1000),
      await put('backup/base.tar', 1000),
      await put(`backup/base.tar.${randomUUID()}.part`, 1000),
    ]
    await sweep()
    for (const key of left) t.equal(await isThere(key), true, key)
  })

  t.test('leaves what a row names, however old, with many sweeps at once', async (t) => {
    const [waiting, canceled] = [await upload(), await upload()]
    const { version, keys } = await build()
    for (const key of [waiting, canceled]) await age(key, 1000)
    const orphans = await Promise.all(
      Array.from({ length: 1200 }, () => put(`imports/${randomUUID()}`, 25)),
    )
    await Promise.all([sweep(), sweep(), sweep()])
    for (const key of [waiting, canceled, ...keys]) t.equal(await isThere(key), true, key)
    t.same(
      await Promise.all(orphans.map(isThere)),
      orphans.map(() => false),
    )
    const path = `/datasets/${version.dataset_id}/versions/${version.id}/export`
    t.equal((await api.get(path)).status, 200)
    await api.post(`/${canceled.replace('imports', 'import')}/cancel`)
    await api.delete(`/datasets/${version.dataset_id}`)
    await Promise.all([canceled, ...keys].map((key) => put(key, 25)))
    await sweep()
    for (const key of [canceled, ...keys]) t.equal(await isThere(key), false, key)
    t.equal(await isThere(waiting), true)
  })

  t.test('leaves files of a version while its build may make it ready', async (t) => {
    const { version, keys } = await build()
    const [job] = await sql<{ job_id: string }[]>`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where id = ${version.id} returning job_id`
    await sql`delete from dataset_files where version_id = ${version.id}`
    const setState = (state: 'running' | 'succeeded') => setJobState(sql, job?.job_id ?? '', state)
    await setState('running')
    await sweep()
    for (const key of keys) t.equal(await isThere(key), true, key)
    await setState('succeeded')
    const { storage } = worker.context
    await sweep({
      ...storage,
      async delete(...file) {
        await setState('running')
        return storage.delete(...file)
      },
    })
    const left = await Promise.all([...new Set(keys)].map(isThere))
    t.equal(left.filter((isLeft) => !isLeft).length, 1, 'its build runs again since the first')
    await setState('succeeded')
    await sweep()
    for (const key of keys) t.equal(await isThere(key), false, key)
  })

  t.test('takes what an upload leaves whose process was killed, and its reservation', async (t) => {
    const reserved = { orgId: org.orgId, id: randomUUID(), bytes: 100, limit: 1000 }
    await reserveUpload(sql, reserved)
    const program = new URL('upload-process.ts', import.meta.url).pathname
    const key = `imports/${randomUUID()}`
    const child = spawn(process.execPath, [program, service.url, config.DATA_DIR, key])
    const parts = () => Array.fromAsync(glob(`${key}.*.part`, { cwd: storageFolder }))
    const [part] = await until(async () => {
      const found = await parts()
      return found.length > 0 && found
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
    await sweep()
    t.equal((await parts()).length, 1, 'it may still be written')
    await age(part as string, 25)
    await sql`update upload_reservations set renewed_at = now() - interval '11 minutes'`
    await sweep()
    t.same(await parts(), [])
    t.same(await sql`select from upload_reservations`, [])
  })

  t.test('runs by the clock, and touches nothing in a storage of another database', async (t) => {
    const key = await put(`imports/${randomUUID()}`, 25)
    await writeFile(pathOf('.storage'), 'another')
    await t.rejects(sweep(), /does not have the mark of this database/)
    t.equal(await isThere(key), true)
    const schedules = await sql`select cron from pgboss.schedule where name = 'maint.storage'`
    t.same(schedules, [{ cron: '53 * * * *' }])
  })
})

t.test('the sweep of a storage on S3', async (t) => {
  const s3 = await startS3(t, { pageSize: 3 })
  const service = await openService(t, { env: s3.env })
  const metrics = openMetrics()
  const worker = await service.startWorkers([], 1, meterWorkers(metrics))
  const { storage } = service.context
  const org = await service.makeOrganization()
  const { body } = await service
    .client(org.key)
    .call('POST', '/import/jsonl', '{"agent_name":"a"}', LINES)
  const [needed, orphan] = [`imports/${body.import_id}`, `imports/${randomUUID()}`]
  await storage.write(orphan, bytes(3))
  // Their processes were killed.
  const unfinished = Array.from({ length: 8 }, (_, i) => ({
    bucket: 'test-bucket',
    key: `${PREFIX}/${i === 1 ? 'look' : `imports/${randomUUID()}`}`,
    parts: new Map([[1, { bytes: Buffer.alloc(10), changedAt: hoursAgo(i === 0 ? 23 : 25) }]]),
    initiatedAt: hoursAgo(25),
  }))
  for (const [i, upload] of unfinished.entries()) s3.uploads.set(`id/${i}=`, upload)
  const others = { ...unfinished[2], key: `${PREFIX}/backup/base.tar` } as (typeof unfinished)[0]
  s3.uploads.set('of another program', others)
  const likeParts = [`backup/base.tar.${randomUUID()}.part`, `${orphan}.${randomUUID()}.part`]
  for (const key of likeParts) await storage.write(key, bytes(1))
  const locked = `imports/${randomUUID()}`
  await storage.write(locked, bytes(5))
  for (const object of s3.objects().values()) object.changedAt = hoursAgo(25)
  const denied = { status: 403, code: 'AccessDenied' }
  s3.interfere = ({ operation, key }) =>
    operation === 'DeleteObject' && key.endsWith(locked) ? denied : undefined
  const run = { ...worker.context, signal: new AbortController().signal }
  await sweepStorageHandler.work({}, run as never)
  t.same([...s3.uploads.keys()], ['id/0=', 'of another program'], 'one may still be written')
  for (const key of likeParts) t.equal(await storage.measure(key), 1, 'no part is an object')
  t.equal(await storage.measure(locked), 5, 'one that cannot be deleted keeps no other from it')
  t.equal(await storage.measure(needed), 18)
  await t.rejects(storage.measure(orphan), /no stored file/)
  const text = await metrics.metrics()
  t.match(text, /swept_total\{kind="part"\} 70\n/)
  t.match(text, /swept_total\{kind="upload"\} 3\n/)
  let deletes = 0
  s3.interfere = ({ operation }) => {
    if (operation === 'DeleteObject') deletes++
    return deletes > 0 ? denied : undefined
  }
  await t.rejects(sweepStorageHandler.work({}, run as never), /AccessDenied/, 'it is away')
})

function hoursAgo(hours: number) {
  return new Date(Date.now() - hours * 3_600_000)
}

async function* bytes(count: number) {
  yield Buffer.alloc(count)
}
