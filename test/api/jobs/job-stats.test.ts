import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { makeTestKey, openService } from '../../support/service.ts'

const HOUR_MS = 3_600_000

t.test('what jobs do and did in the last day', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const { get } = service.client(org.key)
  const beganAt = Date.now()
  const ago = (ms: number) => new Date(beganAt - ms)

  interface Made {
    kind?: string
    state: string
    project?: string | null
    by?: string
    /** How long ago in milliseconds. */
    created: number
    started?: number
    finished?: number
  }
  async function make(orgId: string, job: Made) {
    const { kind = 'dataset.build', state, project = org.projectId, by, created } = job
    const time = (ms: number | undefined) => (ms === undefined ? null : ago(ms))
    await service.sql`
      insert into jobs (org_id, id, project_id, kind, queue_job_id, state, created_at, updated_at,
        started_at, finished_at, cancel_requested_at, error, created_by)
      values (${orgId}, ${randomUUIDv7()}, ${project}, ${kind}, ${randomUUIDv7()}, ${state},
        ${ago(created)}, ${ago(job.finished ?? job.started ?? created)}, ${time(job.started)},
        ${time(job.finished)}, ${state.startsWith('cancel') ? ago(created) : null},
        ${state === 'failed' ? '{}' : null}::text::jsonb, ${by ?? null})`
  }

  t.test('is nothing where there are none', async (t) => {
    const none = { succeeded: 0, failed: 0, canceled: 0, wait_seconds: null, run_seconds: null }
    const { status, body } = await get('/jobs/stats')
    t.equal(status, 200)
    const { since, by_hour, ...others } = body
    t.same(others, {
      queued: 0,
      running: 0,
      cancelling: 0,
      oldest_waiting_seconds: null,
      ...none,
      by_kind: [],
    })
    t.equal(by_hour.length, 24)
    t.equal(by_hour[0].hour, since)
    const starts = by_hour.map(({ hour }: { hour: string }) => Date.parse(hour))
    t.ok(starts.every((start: number, n: number) => start === starts[0] + n * HOUR_MS))
    t.equal(starts[0] % HOUR_MS, 0)
    t.ok(starts[23] <= Date.now() && starts[23] > beganAt - HOUR_MS)
    for (const { hour: _, ...counts } of by_hour) t.same(counts, none)
  })

  t.test('is counted by state, kind and hour, with the waits', async (t) => {
    const at = 2 * HOUR_MS
    for (const seconds of [1, 2, 3, 4, 5]) {
      await make(org.orgId, {
        state: seconds === 5 ? 'failed' : 'succeeded',
        created: at + seconds * 1000,
        started: at,
        finished: at - seconds * 2000,
      })
    }
    await make(org.orgId, { state: 'canceled', created: at, finished: at })
    await make(org.orgId, {
      state: 'succeeded',
      created: 30 * HOUR_MS,
      started: 29 * HOUR_MS,
      finished: 28 * HOUR_MS,
    })
    await make(org.orgId, { state: 'queued', created: 120_000 })
    await make(org.orgId, { state: 'queued', created: 60_000, kind: 'dataset.push' })
    await make(org.orgId, { state: 'running', created: 300_000, started: 200_000 })
    await make(org.orgId, { state: 'cancelling', created: 300_000, started: 200_000 })
    const { body } = await get('/jobs/stats')
    const ended = {
      succeeded: 4,
      failed: 1,
      canceled: 1,
      wait_seconds: { p50: 3, p95: 4.8 },
      run_seconds: { p50: 6, p95: 9.6 },
    }
    t.match(body, {
      queued: 2,
      running: 1,
      cancelling: 1,
      ...ended,
      by_kind: [
        { kind: 'dataset.build', queued: 1, running: 1, cancelling: 1, ...ended },
        { kind: 'dataset.push', queued: 1, running: 0, succeeded: 0, wait_seconds: null },
      ],
    })
    t.equal(body.by_kind.length, 2)
    const [builds, pushes] = body.by_kind
    t.equal(body.oldest_waiting_seconds, builds.oldest_waiting_seconds)
    t.ok(builds.oldest_waiting_seconds >= 120 && builds.oldest_waiting_seconds < 1000)
    t.equal(Math.round(builds.oldest_waiting_seconds - pushes.oldest_waiting_seconds), 60)
    const sum = (state: 'succeeded' | 'failed' | 'canceled') =>
      body.by_hour.reduce((n: number, hour: Record<string, number>) => n + (hour[state] ?? 0), 0)
    t.same([sum('succeeded'), sum('failed'), sum('canceled')], [4, 1, 1])
    const hour = new Date(Math.floor((beganAt - at) / HOUR_MS) * HOUR_MS).toISOString()
    const canceled = body.by_hour.find((each: { canceled: number }) => each.canceled === 1)
    t.equal(canceled.hour, hour)
  })

  t.test('shows a caller what it may see', async (t) => {
    const other = await service.makeOrganization()
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const theirs = service.client(other.key)
    t.match((await theirs.get('/jobs/stats')).body, { queued: 0, succeeded: 0, by_kind: [] })
    const mine = service.client(scoped.raw)
    const seen = async (path = '/jobs/stats') => (await mine.get(path)).body
    t.match(await seen(), { queued: 2, succeeded: 4 })
    await make(org.orgId, { state: 'queued', project: null, created: 0 })
    await make(org.orgId, {
      state: 'succeeded',
      project: null,
      created: 0,
      started: 0,
      finished: 0,
    })
    t.match(await seen(), { queued: 2, succeeded: 4 }, 'not what is of the organization')
    t.match((await get('/jobs/stats')).body, { queued: 3, succeeded: 5 })
    t.match((await get('/jobs/stats?project=default')).body, { queued: 2, succeeded: 4 })
    await make(org.orgId, { state: 'queued', project: null, by: scoped.id, created: 0 })
    t.match(await seen(), { queued: 3 }, 'but what it asked for itself')
    t.match(await seen('/jobs/stats?project=default'), { queued: 2 })
    t.equal((await get('/jobs/stats?project=none')).status, 404)
  })
})
