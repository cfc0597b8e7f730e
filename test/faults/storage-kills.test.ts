import { createHash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import t from 'tap'
import { pathOf } from '../support/built-dataset.ts'
import type { Version } from '../support/built-dataset.ts'
import { randomOf } from '../support/random.ts'
import { PREFIX, startS3 } from '../support/s3.ts'
import { openService } from '../support/service.ts'
import { hello, storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { LONG } from './stage.ts'

const KILLS = LONG ? 12 : 1
const WRITES = /PutObject|Multipart|UploadPart/

t.test('F25: a worker killed while it publishes a version on S3', async (t) => {
  const s3 = await startS3(t)
  const service = await openService(t, { env: s3.env })
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31))
  t.comment(`FC_SEED=${seed}`)
  const random = randomOf(seed)
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  const traces = Array.from({ length: 20 }, (_, i) => ({
    trace_id: `${i}`,
    // The files of a split have more than one part.
    messages: hello(`${i}`.repeat(500_000)),
  }))
  await storeJudged(service.sql, org, traces)
  const { body: dataset } = await api.post('/datasets', { name: 'd', dataset_type: 'sft' })
  const build = { split: { train: 0.8, validation: 0.2 } }
  for (let kills = 0; kills < KILLS; kills++) {
    const asked = await api.post(`/datasets/${dataset.id}/build`, build, {
      prefer: 'respond-async',
    })
    const version = asked.body as Version
    let left = Math.floor(random() * 8)
    const victim = await startWorkerProcess(service, 'datasets,maintenance', s3.env)
    s3.interfere = ({ operation, key }) => {
      if (!key.includes(version.id) || !WRITES.test(operation) || left-- > 0) return undefined
      victim.kill('SIGKILL')
      // It may have been done or not.
      return random() < 0.5 ? 'reset' : 'answer lost'
    }
    await once(victim, 'exit')
    s3.interfere = () => undefined
    t.match((await api.get(pathOf(version))).body, { status: 'building' })
    // A minute later.
    await service.sql`
      update pgboss.job set heartbeat_on = now() - interval '1 hour', start_after = now()
      where name = 'dataset.build' and state = 'active'`
    const worker = await startWorkerProcess(service, 'datasets,maintenance', s3.env)
    await until(async () => (await api.get(pathOf(version))).body.status === 'ready')
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    await checkFiles(version)
  }

  /** Rows and objects tell the same. */
  async function checkFiles({ id }: Version) {
    const rows = await service.sql<{ storage_key: string; sha256: string; size_bytes: number }[]>`
      select storage_key, sha256, size_bytes from dataset_files where version_id = ${id}`
    t.ok(rows.length >= 4)
    const names = new Set(rows.map(({ storage_key }) => `${PREFIX}/${storage_key}`))
    t.same(new Set([...s3.objects().keys()].filter((name) => name.includes(id))), names)
    for (const { storage_key, sha256, size_bytes } of rows) {
      const { bytes = Buffer.alloc(0) } = s3.objects().get(`${PREFIX}/${storage_key}`) ?? {}
      t.equal(bytes.length, size_bytes)
      t.equal(createHash('sha256').update(bytes).digest('hex'), sha256)
    }
  }
})
