import t from 'tap'
import { openService } from '../../../support/service.ts'
import { startLangfuse } from '../../../support/platforms/langfuse-double.ts'
import { LAST_DAY, makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import type { DoubleKind } from '../../../support/platforms/pulls.ts'
import { until } from '../../../support/until.ts'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'

const TRACES = makePlatformTraces(24)
const LANGFUSE = DOUBLES['langfuse'] as DoubleKind

t.test('pulling traces', async (t) => {
  const env = {
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    QUOTA_TRACES_INGESTED: '10,100000,100000,100000',
  }
  const service = await openService(t, { env })
  const { sql } = service
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  const countTraces = async (orgId: string) => {
    const [row] = await sql<[{ n: number }]>`
      select count(*)::int as n from traces where org_id = ${orgId}`
    return row.n
  }

  t.test('tells how far it is, by days', async (t) => {
    const double = await startLangfuse(t, TRACES, { mostRows: 20 })
    const notes = new Set<string>()
    const pulled = await pulls.pull(LANGFUSE, double)
    const readJob = async () => (await pulled.get(`/jobs/${pulled.jobId}`)).body
    const reading = until(async () => {
      const { progress, done } = await readJob()
      if (progress.note) notes.add(progress.note)
      return done
    })
    const shown = await pulled.ended()
    await reading
    const job = await readJob()
    t.equal(job.progress.unit, 'records')
    t.equal(job.progress.done, shown.progress.lines)
    t.equal(job.progress.note, '100 % of the traces put together')
    t.ok(shown.progress.bytes > 10_000)
    for (const note of notes) t.match(note, /^(2026-03-0\d of 2026-03-05|\d+ % of the traces .*)$/)
  })

  t.test('counts in a dry run what it would bring, and stores nothing', async (t) => {
    const double = await startLangfuse(t, TRACES)
    const org = await service.makeOrganization()
    const asked = { owner: org, dry_run: true, project: 'unborn' }
    const shown = await (await pulls.pull(LANGFUSE, double, asked)).ended()
    t.match(shown, { imported_count: TRACES.length, project_id: null, scores_imported: 72 })
    t.equal(await countTraces(org.orgId), 0)
    t.equal(await pulls.countStaged(), 0)
  })

  t.test('stops at the quota', async (t) => {
    const double = await startLangfuse(t, TRACES)
    const org = await service.makeOrganization('free')
    const pulled = await pulls.pull(LANGFUSE, double, { owner: org })
    t.match(await pulled.ended(), { status: 'capped', imported_count: 10 })
    t.equal(await countTraces(org.orgId), 10)
  })

  t.test('names the traces that began before the range', async (t) => {
    const double = await startLangfuse(t, TRACES)
    const org = await service.makeOrganization()
    const first = TRACES[0]
    const since = new Date(Number(first?.steps[0]?.from) + 1).toISOString()
    const shown = await (await pulls.pull(LANGFUSE, double, { owner: org, since })).ended()
    t.same(shown.incomplete_trace_ids, [first?.id])
    t.match((await service.client(org.key).get(`/traces/${first?.id}`)).body, { status: 'partial' })
  })

  t.test('waits for a platform without a slot, and can be canceled meanwhile', async (t) => {
    const double = await startLangfuse(t, TRACES, { mostRows: 20 })
    double.onCall = ({ query }) =>
      query.has('cursor') ? { status: 503, json: {}, headers: { 'retry-after': '600' } } : undefined
    const pulled = await pulls.pull(LANGFUSE, double)
    const row = await until(async () => {
      const [found] = await sql`
        select extract(epoch from start_after - now()) as seconds, retry_count from pgboss.job
        where data->>'job_id' = ${pulled.jobId} and state = 'created' and start_after > now()`
      return found
    })
    t.match(row, { retry_count: 0 })
    t.ok(Number(row['seconds']) > 300 && Number(row['seconds']) <= 600)
    const { body } = await pulled.get(`/jobs/${pulled.jobId}`)
    t.match(body, {
      state: 'queued',
      progress: { note: /^2026-03-01 of 2026-03-05, waits for the platform for \d+ s$/, done: 20 },
    })
    t.match((await pulled.post(`/import/${pulled.importId}/cancel`, {})).body, {
      status: 'canceled',
    })
    t.same(await sql`select 1 from job_secrets where job_id = ${pulled.jobId}`, [])
  })

  t.test('keeps an end that is fixed when it is requested', async (t) => {
    const double = await startLangfuse(t, TRACES)
    const pulled = await pulls.pull(LANGFUSE, double)
    await pulled.ended()
    const ends = double.calls.map(({ query }) => query.get('toStartTime') ?? '')
    t.ok(ends.every((end) => end <= LAST_DAY.toISOString()))
    t.ok(ends.includes(LAST_DAY.toISOString()))
  })
})
