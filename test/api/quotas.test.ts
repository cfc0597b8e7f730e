import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { importHandler } from '../../workers/import/import-traces.ts'
import { openService } from '../support/service.ts'
import { storeJudged } from '../support/stored-traces.ts'

/** Of every metric, whatever the plan. */
const QUOTA = 20
const env = { QUOTA_TRACES_INGESTED: `${QUOTA},100,100,${QUOTA}` }

t.test('the quota of traces', async (t) => {
  const service = await openService(t, { env })
  // Chunks of a few records, so that the quota ends in the midst of one.
  await service.startWorkers([importHandler({ chunkBytes: 300 })])

  async function open() {
    const org = await service.makeOrganization()
    await service.sql`
      insert into notification_settings (org_id, webhook_url)
      values (${org.orgId}, 'https://receiver.invalid/')`
    const client = service.client(org.key)
    return {
      ...org,
      ...client,
      async stored() {
        const [row] = await service.sql<{ n: number }[]>`
          select count(*)::int as n from traces where org_id = ${org.orgId}`
        return row?.n
      },
      async used() {
        const { body } = await client.get('/usage')
        return body.metrics.find(({ metric }: { metric: string }) => metric === 'traces_ingested')
      },
      async events() {
        const rows = await service.sql<{ event: string; body: Buffer }[]>`
          select event, body from deliveries where org_id = ${org.orgId} order by id`
        return rows.map(({ event, body }) => ({ event, ...JSON.parse(body.toString()).data }))
      },
    }
  }
  const trace = (id: number | string) => ({ trace_id: `t${id}`, agent_name: 'a' })

  t.test('is exact however many send at once, and duplicates are free', async (t) => {
    const { post, stored, used } = await open()
    const ids = Array.from({ length: 2 * QUOTA }, (_, i) => i)
    const answers = await Promise.all([...ids, ...ids].map((id) => post('/traces', trace(id))))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    t.equal(count(201), QUOTA)
    t.equal(await stored(), QUOTA)
    t.equal(count(200) + count(402), 3 * QUOTA)
    t.same(await used(), { metric: 'traces_ingested', current: QUOTA, limit: QUOTA, percent: 100 })
    const { body } = await post('/traces/batch', ids.map(trace))
    t.equal(body.count, 0)
    t.equal(body.skipped, QUOTA, 'the stored ones are still told at the limit')
  })

  t.test('beyond it answers 402 and says when it is full again', async (t) => {
    const { post } = await open()
    await post(
      '/traces/batch',
      Array.from({ length: QUOTA }, (_, i) => trace(i)),
    )
    const refused = await post('/traces', trace('more'))
    t.equal(refused.status, 402)
    t.equal(refused.headers['x-quota-exceeded'], 'traces_ingested')
    t.match(refused.body, {
      code: 'quota_exceeded',
      detail: 'traces_ingested: 1 trace would pass the quota of 20; 0 are left',
      request_id: String,
    })
    const now = new Date()
    const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
    t.ok(Math.abs(refused.body.resets_in_seconds - (end - now.getTime()) / 1000) < 60)
    t.equal((await post('/traces/batch', [trace('x'), trace('y')])).status, 402)
    t.equal((await post('/traces', trace(1))).status, 200)
  })

  t.test('has nothing judged that it refused', async (t) => {
    const { orgId, post } = await open()
    const batch = Array.from({ length: 3 * QUOTA }, (_, i) => ({
      ...trace(i),
      project: `p${i % 3}`,
    }))
    t.equal((await post('/traces/batch', batch)).body.count, QUOTA)
    const judged = await service.sql<{ n: number }[]>`
      select count(*)::int as n, count(distinct each.trace_id)::int as ids
      from pgboss.job, jsonb_array_elements_text(data->'payload'->'trace_ids') as each (trace_id)
      where name = 'evals.judge' and data->>'org_id' = ${orgId}`
    t.same(judged, [{ n: QUOTA, ids: QUOTA }])
  })

  t.test('takes of a batch what fits', async (t) => {
    const { post, stored } = await open()
    const { status, body } = await post(
      '/traces/batch',
      Array.from({ length: QUOTA + 3 }, (_, i) => trace(i)),
    )
    t.equal(status, 200)
    t.equal(body.count, QUOTA)
    t.same(
      body.errors.map(({ index, code }: { index: number; code: string }) => [index, code]),
      [20, 21, 22].map((index) => [index, 'quota_exceeded']),
    )
    t.equal(await stored(), QUOTA)
  })

  t.test('notifies once at 80 % and once at 100 %', async (t) => {
    const { post, events } = await open()
    await Promise.all(Array.from({ length: QUOTA + 10 }, (_, i) => post('/traces', trace(i))))
    const common = { metric: 'traces_ingested', limit: QUOTA, plan: 'enterprise' }
    const told = await events()
    t.equal(told.length, 2)
    t.match(
      told.find(({ event }) => event === 'usage.limit_reached'),
      { ...common, current: QUOTA },
    )
    const warning = told.find(({ event }) => event === 'usage.warning')
    t.match(warning, { ...common, period_start: /-01T00:00:00/, period_end: /-01T00:00:00/ })
    t.ok(warning.current >= 0.8 * QUOTA)
  })

  t.test('ends an import at the line it is used up, and a raised one lets it go on', async (t) => {
    const { orgId, post, call, stored, used, events } = await open()
    await post('/traces/batch', [trace(0), trace(1)])
    const lines = [
      ...Array.from({ length: 10 }, (_, i) => JSON.stringify(trace(i))),
      'no JSON',
      ...Array.from({ length: 30 }, (_, i) => JSON.stringify(trace(i + 5))),
    ]
    const upload = () =>
      call('POST', '/import/jsonl', lines.join('\n'), { 'content-type': 'application/x-ndjson' })
    const { status, body } = await upload()
    t.equal(status, 200)
    // Traces 0 to 9 are lines 1 to 10, 5 to 34 are lines 12 to 41: the twentieth is trace 19 in line 26.
    t.match(body, {
      status: 'capped',
      capped_at_line: 27,
      imported_count: QUOTA - 2,
      skipped_count: 2 + 5,
      error_count: 1,
    })
    t.equal(await stored(), QUOTA)
    t.equal((await events()).length, 2)
    const again = await upload()
    t.match(again.body, { status: 'capped', capped_at_line: 27, imported_count: 0 })

    await service.sql`update organizations set plan = 'pro' where id = ${orgId}`
    const rest = await upload()
    t.match(rest.body, { status: 'succeeded', capped_at_line: null, imported_count: 15 })
    t.match(await used(), { current: 35, limit: 100 })
  })

  t.test('is not touched by a dry run', async (t) => {
    const { call, used } = await open()
    const lines = Array.from({ length: 2 * QUOTA }, (_, i) => JSON.stringify(trace(i)))
    const { body } = await call('POST', '/import/jsonl?dry_run=true', lines.join('\n'), {
      'content-type': 'application/x-ndjson',
    })
    t.match(body, { status: 'succeeded', imported_count: 2 * QUOTA })
    t.match(await used(), { current: 0 })
  })
})

t.test('the quota of rows', async (t) => {
  const service = await openService(t, { env: { QUOTA_SFT_ROWS: '5,5,10,5' } })
  await service.startWorkers([buildDatasetHandler], 2)

  async function open(traces: number) {
    const org = await service.makeOrganization()
    const judged = Array.from({ length: traces }, (_, i) => ({
      trace_id: `t${i}`,
      quality: 1,
      messages: [
        { role: 'user', content: `Question ${i}` },
        { role: 'assistant', content: `Answer ${i}` },
      ],
    }))
    await storeJudged(service.sql, org, judged)
    const client = service.client(org.key)
    const used = async () => {
      const { body } = await client.get('/usage')
      return body.metrics.find(({ metric }: { metric: string }) => metric === 'sft_rows').current
    }
    const build = async (type: string, filters: object = {}) => {
      const name = `${type} ${Math.random()}`
      const dataset = await client.post('/datasets', { name, dataset_type: type })
      const answer = await client.post(`/datasets/${dataset.body.id}/build`, { filters })
      return { ...answer, dataset_id: dataset.body.id as string }
    }
    return { ...org, ...client, used, build }
  }

  t.test('counts those of ready sft versions, and refuses what goes beyond', async (t) => {
    const { build, used, get, orgId } = await open(6)
    t.match(await build('sft', { max_rows: 3 }), { status: 201, body: { row_count: 3 } })
    t.equal(await used(), 3)
    const refused = await build('sft')
    t.equal(refused.status, 402)
    t.equal(refused.headers['x-quota-exceeded'], 'sft_rows')
    t.match(refused.body, {
      code: 'quota_exceeded',
      detail: 'sft_rows: 6 rows would pass the quota of 5; 2 are left',
      resets_in_seconds: Number,
    })
    t.equal(await used(), 3)

    const { body } = await get(`/datasets/${refused.dataset_id}/versions`)
    t.match(body.versions, [{ status: 'failed', error: { code: 'quota_exceeded' } }])
    const left = await service.sql`
      select 1 from dataset_version_rows
      where org_id = ${orgId} and version_id = ${body.versions[0].id}`
    t.same(left, [], 'and nothing is left of it')
    const folder = join(service.storageFolder, 'datasets', orgId, body.versions[0].id)
    t.same(await readdir(folder).catch(() => []), [])
  })

  t.test('take a retry of a refused build once they fit', async (t) => {
    const { build, used, get, post, orgId } = await open(6)
    const refused = await build('sft')
    t.equal(refused.status, 402)
    const { body } = await get(`/datasets/${refused.dataset_id}/versions`)
    const [{ job_id }] = body.versions
    t.match((await get(`/jobs/${job_id}`)).body, {
      error: { code: 'quota_exceeded', retryable: true },
    })
    await service.sql`update organizations set plan = 'pro' where id = ${orgId}`
    t.equal((await post(`/jobs/${job_id}/retry`)).status, 202)
    t.match((await get(`/jobs/${job_id}?wait=20`)).body, { state: 'succeeded' })
    t.equal(await used(), 6)
  })

  t.test('refuses at once when it is used up, and is not asked for other types', async (t) => {
    const { build, used, get } = await open(5)
    t.equal((await build('sft')).status, 201)
    t.equal(await used(), 5)
    const refused = await build('sft')
    t.equal(refused.status, 402)
    const { body } = await get(`/datasets/${refused.dataset_id}/versions`)
    t.same(body.versions, [], 'there is not even a job')
    t.equal((await build('kto')).status, 201)
    t.equal(await used(), 5)
  })
})
