import t from 'tap'
import { DAY_MS } from '../../../jobs/rules/core/time.ts'
import { LOOKS } from '../../../jobs/rules/regression/bisect.ts'
import { sweepRegressions } from '../../../jobs/sweep-regressions.ts'
import { openWorkerContext } from '../../../ops/worker-context.ts'
import { openDatabase } from '../../../sql/core/db.ts'
import { listOpenSeries } from '../../../sql/regression/series.ts'
import type { OpenSeries } from '../../../sql/regression/series.ts'
import { bisectRegressionHandler } from '../../../workers/regression/bisect-regression.ts'
import { sweepRegressionsHandler } from '../../../workers/regression/sweep-regressions.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const service = await openService(t)
await service.startWorkers([bisectRegressionHandler, sweepRegressionsHandler])

t.test('the version that made a metric worse is found and told once', async (t) => {
  const { client, version, told } = await open()
  const v1 = await version(90, 0.9)
  const v2 = await version(60, 0.6)
  const { status, body } = await client.post('/agents/agent/bisect')
  t.equal(status, 200)
  t.match(body, { agent_name: 'agent', metric: 'quality_avg', computed_at: String })
  t.match(body.versions, [
    {
      manifest_id: v1,
      version_label: 'v1',
      n: 90,
      is_below_threshold: false,
      pass_rate: 1,
      mde: null,
    },
    { manifest_id: v2, version_label: 'v2', n: 60, is_below_threshold: true, pass_rate: 0 },
  ])
  t.match(body.findings, [
    { status: 'open', manifest_id: v2, version_label: 'v2', previous_version_label: 'v1' },
  ])
  const [finding] = body.findings
  t.ok(Math.abs(finding.delta + 0.3) < 0.01 && finding.p_value < 0.001)
  const { mde } = body.versions[1]
  t.ok(mde > 0.03 && mde < -finding.delta, 'a drop that was found could be seen')
  t.equal(finding.trace_sample_ids.length, 10)
  await client.post('/agents/agent/bisect')
  const again = await client.get('/agents/agent/bisect')
  t.same(again.body.findings, body.findings)
  const events = await told()
  t.match(events, [
    {
      event: 'regression.detected',
      data: {
        agent_name: 'agent',
        manifest_id: v2,
        version_label: 'v2',
        previous_version_label: 'v1',
        metric: 'quality_avg',
        delta: finding.delta,
        trace_sample_ids: finding.trace_sample_ids,
      },
    },
  ])
})

t.test('a version as good as the one before has no finding', async (t) => {
  const { client, version, told } = await open()
  await version(90, 0.8)
  await version(60, 0.8)
  t.same((await client.post('/agents/agent/bisect')).body.findings, [])
  t.same(await told(), [])
})

t.test('a finding is resolved when a later version is as good as before', async (t) => {
  const { client, version, told } = await open()
  await version(90, 0.9)
  const v2 = await version(60, 0.6)
  await client.post('/agents/agent/bisect')
  await version(60, 0.6)
  t.match((await client.post('/agents/agent/bisect')).body.findings, [{ status: 'open' }])
  await version(60, 0.9)
  t.match((await client.post('/agents/agent/bisect')).body.findings, [
    { status: 'resolved', resolution: 'recovered', manifest_id: v2, resolved_at: String },
  ])
  t.match(
    (await told()).map(({ event }) => event),
    ['regression.detected', 'regression.resolved'],
  )
})

t.test('a finding is resolved at once when the version before is back', async (t) => {
  const { client, version, told } = await open()
  const v1 = await version(90, 0.9)
  await version(60, 0.6)
  await client.post('/agents/agent/bisect')
  await client.post(`/manifests/${v1}/activate`)
  t.match((await client.post('/agents/agent/bisect')).body.findings, [
    { status: 'resolved', resolution: 'reverted' },
  ])
  t.equal((await told()).length, 2)
})

t.test('a person resolves a finding once, with a note', async (t) => {
  const { client, version, told } = await open()
  await version(90, 0.9)
  await version(60, 0.6)
  const [{ id }] = (await client.post('/agents/agent/bisect')).body.findings
  const path = `/agents/agent/bisect/findings/${id}/resolve`
  const resolved = await client.post(path, { note: 'meant' })
  t.match(resolved.body, { id, status: 'resolved', resolution: 'manual', resolution_note: 'meant' })
  t.same((await client.post(path, { note: 'again' })).body, resolved.body)
  t.equal((await told()).length, 2)
  await client.post('/agents/agent/bisect')
  t.same((await client.get('/agents/agent/bisect')).body.findings, [resolved.body])
  t.equal((await client.post(path.replace('/agent/', '/other/'))).status, 404)
})

t.test('a score that somebody asked about is tested by its name', async (t) => {
  const { client, version } = await open()
  await version(90, 0.9)
  const v2 = await version(60, 0.6)
  const { body } = await client.post('/agents/agent/bisect', { metric: 'reward' })
  t.match(body, { metric: 'reward', findings: [{ manifest_id: v2, metric: 'reward' }] })
  t.match((await client.get('/agents/agent/bisect')).body, { findings: [], computed_at: null })
})

t.test('replays and synthetic traces do not stand in the way of what was measured', async (t) => {
  const { client, version, traces } = await open()
  await version(90, 0.9)
  const v2 = await version(60, 0.6)
  const more = (i: number) => ({ source_type: i % 2 ? 'replayed' : 'synthetic' })
  await traces(v2, 10_001, { tool: 'search', quality: null, more })
  t.match((await client.post('/agents/agent/bisect')).body, {
    versions: [{ n: 90 }, { n: 60 }],
    findings: [{ manifest_id: v2 }],
  })
})

t.test(
  'traces without a value stand in the way of neither what was measured nor a sweep',
  async (t) => {
    const { client, version, traces, orgId } = await open()
    await version(90, 0.9)
    const v2 = await version(29, 0.6)
    await client.post('/agents/agent/bisect')
    await version(1, 0.6, 'more')
    await traces(v2, 10_001, { tool: 'search', quality: null })
    const before = await countBisections(orgId)
    await sweep()
    t.equal(await countBisections(orgId), (before ?? 0) + 1)
    t.match((await client.get('/agents/agent/bisect')).body, {
      versions: [{ n: 90 }, { n: 30 }],
      findings: [{ manifest_id: v2 }],
    })
  },
)

t.test('the sweep bisects what reached a look since, and nothing else', async (t) => {
  const { client, version, orgId } = await open()
  await version(90, 0.9)
  await version(29, 0.6)
  const looked = async () => (await client.get('/agents/agent/bisect')).body
  await sweep()
  const first = await until(async () => {
    const view = await looked()
    return view.computed_at && view
  })
  t.same(first.findings, [], 'one trace too few')
  await version(1, 0.6, 'more')
  await sweep()
  t.match(
    await until(async () => {
      const view = await looked()
      return view.findings.length > 0 && view
    }),
    { findings: [{ version_label: 'v2' }] },
  )
  const before = await countBisections(orgId)
  await sweep()
  await until(async () => (await countWaiting()) === 0)
  t.equal(await countBisections(orgId), before)
})

t.test('the sweep looks no further back than a bisection', async (t) => {
  const { client, register, traces, orgId } = await open()
  const started_at = new Date(Date.now() - 181 * DAY_MS).toISOString()
  const v1 = await register([{ component_type: 'tool', component_name: 'a' }])
  await traces(v1, 30, { tool: 'search', more: () => ({ started_at }) })
  t.match((await client.post('/agents/agent/bisect')).body, { versions: [{ n: 0 }] })
  const before = await countBisections(orgId)
  await sweep()
  t.equal(await countBisections(orgId), before)
})

t.test(
  'the series to sweep are listed page by page, those bisected longest ago first',
  async (t) => {
    const { client, version } = await open()
    await version(1, 0.9)
    for (const metric of ['reward', 'speed', 'tone']) {
      await client.post('/agents/agent/bisect', { metric })
    }
    await service.sql`update regression_series set computed_at = '2026-01-01' where metric <> 'speed'`
    const list = (limit: number, after?: OpenSeries) =>
      listOpenSeries(service.sql, { since: new Date(0), looks: LOOKS.length }, { after, limit })
    const all = await list(1000)
    const walked: OpenSeries[] = []
    for (;;) {
      const page = await list(1, walked.at(-1))
      if (page.length === 0) break
      walked.push(...page)
    }
    t.same(walked, all)
    const times = all.map(({ computed_at }) => Number(computed_at))
    t.same(
      times,
      times.toSorted((a, b) => a - b),
    )
    t.equal(all[0]?.computed_at, null)
    t.equal(all.at(-1)?.metric, 'speed')
  },
)

t.test('a metric whose traces take too long to count holds up no other one', async (t) => {
  const { client, version, orgId } = await open()
  await version(29, 0.9)
  await client.post('/agents/agent/bisect', { metric: 'reward' })
  await client.post('/agents/agent/bisect')
  await version(1, 0.9, 'more')
  const before = await countBisections(orgId)
  // What others asked about would wait for the lock, too.
  await service.sql`
    delete from regression_series where org_id <> ${orgId} and metric <> 'quality_avg'`
  const sql = openDatabase(service.url, { applicationName: 'slow sweep', statementTimeoutMs: 0 })
  t.teardown(() => sql.end())
  const told: string[] = []
  const warn = ({ orgId: org, metric }: { orgId?: string; metric?: string }) =>
    void told.push(`${org} ${metric}`)
  const log = { info: () => undefined, warn, error: () => undefined }
  const worker = await openWorkerContext(service.config, service.url, {
    slots: 1,
    supervise: false,
  })
  t.teardown(() => worker.close())
  await service.sql.begin(async (tx) => {
    await tx`lock table eval_scores in access exclusive mode`
    const swept = sweepRegressionsHandler.work(
      {},
      {
        ...worker.context,
        sql,
        log,
        orgId,
        jobId: undefined,
        attempt: 1,
        checkpointed: undefined,
        signal: new AbortController().signal,
        progress: () => undefined,
        checkpoint: async () => undefined,
      },
    )
    // What waits for the lock is ended as if it had taken too long.
    const canceled = until(async () => {
      const [found] = await service.sql`
        select pg_cancel_backend(pid) from pg_stat_activity
        where application_name = 'slow sweep' and wait_event = 'relation'`
      return found
    })
    await Promise.all([swept, canceled])
  })
  t.ok(told.includes(`${orgId} reward`))
  t.equal(await countBisections(orgId), (before ?? 0) + 1)
})

t.test('an agent nobody knows is 404, one without scores has no means', async (t) => {
  const { client, register } = await open()
  t.equal((await client.get('/agents/nobody/bisect')).status, 404)
  await register([{ component_type: 'tool', component_name: 'a' }])
  t.match((await client.post('/agents/agent/bisect')).body, {
    versions: [{ n: 0, mean: null, ci95_low: null, pass_rate: null }],
    findings: [],
  })
})

/** An agent with an address for events. */
async function open() {
  const agent = await registeredAgent(service)
  const { orgId, register, traces } = agent
  await service.sql`
    insert into notification_settings (org_id, webhook_url) values (${orgId}, 'https://192.0.2.1/')`
  let newest = ''
  let versions = 0
  return {
    ...agent,
    /** A new version with traces whose quality is about as told; with `more`, of the newest version. */
    async version(n: number, quality: number, more?: 'more') {
      const tools = [{ component_type: 'tool', component_name: `tool ${versions + 1}` }]
      if (!more) newest = await register(tools)
      versions++
      await traces(newest, n, { tool: 'search', quality: (i) => quality + (i % 2 ? 0.05 : -0.05) })
      return newest
    },
    async told() {
      const rows = await service.sql<{ event: string; body: Buffer }[]>`
        select event, body from deliveries
        where org_id = ${orgId} and event like 'regression.%' order by created_at, id`
      return rows.map(({ event, body }) => ({ event, data: JSON.parse(body.toString()).data }))
    },
  }
}

async function sweep() {
  const { context } = service
  await context.queue.transaction(context.sql, (tx) =>
    context.queue.enqueue(tx, sweepRegressions, {}, { orgId: null }),
  )
  await until(async () => (await countWaiting()) === 0)
}

async function countWaiting() {
  const [row] = await service.sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job
    where name in ('regression.sweep', 'regression.bisect') and state < 'completed'`
  return row?.n
}

async function countBisections(orgId: string) {
  const [row] = await service.sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job
    where name = 'regression.bisect' and data ->> 'org_id' = ${orgId}`
  return row?.n
}
