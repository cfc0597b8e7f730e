import { createHash, randomInt } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { importTracesHandler } from '../../workers/import/import-traces.ts'
import { makeBuildHandler } from '../../workers/datasets/build-dataset.ts'
import { buildVersion, pathOf } from '../support/built-dataset.ts'
import { randomOf } from '../support/random.ts'
import { startS3 } from '../support/s3.ts'
import type { S3Call, S3Interference } from '../support/s3.ts'
import { openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { hello, storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'
import { LONG } from './stage.ts'

const UPLOADS = LONG ? 120 : 8
const DOWNLOADS = LONG ? 200 : 12
/** More than one part of an object. */
const LARGE_BYTES = 9 << 20

t.test('F25: an S3 that breaks in the middle of uploads and downloads', async (t) => {
  const { s3, service, random } = await openOnS3(t)
  await service.server.start()
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  const url = `${service.server.info.uri}/api/v1`
  const authorization = `Bearer ${org.key}`

  t.test('loses no upload that it accepted, and keeps none that it refused', async (t) => {
    await service.startWorkers([importTracesHandler], 2)
    hurry(t, service, 'import.run')
    s3.interfere = atRandom(random, 0.2)
    const accepted = new Set<string>()
    let refused = 0
    async function upload(n: number) {
      for (let tries = 0; ; tries++) {
        const trace_id = `${n}-${tries}`
        const line = JSON.stringify({ agent_name: 'a', trace_id, messages: hello(trace_id) })
        const body = n % 4 === 0 ? `${line}\n${' '.repeat(LARGE_BYTES)}\n` : line
        const headers = { authorization, prefer: 'respond-async', ...LINES }
        const answer = await fetch(`${url}/import/jsonl`, { method: 'POST', headers, body })
        await answer.text()
        if (answer.status === 202) return accepted.add(trace_id)
        t.equal(answer.status, 503)
        refused++
      }
    }
    const numbers = Array.from({ length: UPLOADS }, (_, n) => n)
    const clients = [1, 2, 3, 4].map(async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) await upload(n)
    })
    await Promise.all(clients)
    await until(async () => {
      const [left] = await service.sql`
        select count(*)::int as n from jobs where kind = 'import.run' and finished_at is null`
      return left?.['n'] === 0
    })
    t.same(await service.sql`select from jobs where state <> 'succeeded'`, [])
    const stored = await service.sql<{ trace_id: string }[]>`
      select trace_id from traces where org_id = ${org.orgId}`
    t.same(new Set(stored.map(({ trace_id }) => trace_id)), accepted)
    t.comment(`${accepted.size} accepted, ${refused} refused`)
    s3.interfere = () => undefined
    await until(async () => (await api.get('//readyz')).status === 200)
  })

  t.test('sends a download whole or breaks it off', async (t) => {
    const traces = Array.from({ length: 40 }, (_, i) => ({
      trace_id: `large ${i}`,
      messages: hello(`${i}`.repeat(100_000)),
    }))
    await storeJudged(service.sql, org, traces)
    await service.startWorkers([makeBuildHandler({ shardBytes: 2 << 20 })], 1)
    const { body: dataset } = await api.post('/datasets', { name: 'd', dataset_type: 'sft' })
    const version = await buildVersion(api, dataset.id)
    s3.interfere = atRandom(random, 0.4)
    const ends = { whole: 0, 'broken off': 0, refused: 0 }
    async function download() {
      const asked = fetch(`${url}${pathOf(version)}/export`, { headers: { authorization } })
      // A connection that ends before the head of the answer is sent.
      const answer = await asked.catch(() => undefined)
      if (!answer) return 'broken off'
      const digest = answer.headers.get('digest')
      const bytes = await answer.arrayBuffer().catch(() => undefined)
      if (answer.status !== 200) return 'refused'
      if (!bytes) return 'broken off'
      const sha256 = createHash('sha256').update(Buffer.from(bytes)).digest('base64')
      t.equal(digest, `sha-256=${sha256}`, 'what ends as if whole is whole')
      return 'whole'
    }
    for (let i = 0; i < DOWNLOADS; i++) ends[await download()]++
    t.comment(JSON.stringify(ends))
    t.ok(ends.whole > 0)
    s3.interfere = () => undefined
    t.equal(await download(), 'whole')
  })
})

const LINES = { 'content-type': 'application/x-ndjson' }

async function openOnS3(t: Test) {
  const s3 = await startS3(t)
  const service = await openService(t, { env: s3.env })
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31))
  t.comment(`FC_SEED=${seed}`)
  return { s3, service, random: randomOf(seed) }
}

/** Lets a share of the calls about files fail, in all ways that do not take long. */
function atRandom(random: () => number, share: number) {
  const faults: S3Interference[] = [
    'reset',
    'answer lost',
    { status: 503, code: 'SlowDown' },
    { status: 500, code: 'InternalError' },
    { cutAfter: 50_000 },
    { cutAfter: 0 },
  ]
  return ({ key }: S3Call) =>
    /imports|datasets/.test(key) && random() < share
      ? faults[Math.floor(random() * faults.length)]
      : undefined
}

/** The waits between attempts are over soon. */
function hurry(t: Test, { sql }: Service, name: string) {
  const timer = setInterval(() => {
    sql`
      update pgboss.job set start_after = now() where name = ${name} and state < 'active'`.catch(
      () => undefined,
    )
  }, 500)
  t.teardown(() => clearInterval(timer))
}
