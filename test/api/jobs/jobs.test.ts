import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { admitJob } from '../../../api/admit-job.ts'
import { answerLongWork, openJobWaiter } from '../../../api/wait.ts'
import { endpoint } from '../../../api/endpoint.ts'
import { operations } from '../../../api/routes.ts'
import { buildDataset } from '../../../jobs/build-dataset.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { deafListener } from '../../../sql/core/listener.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import type { Run } from '../../../workers/runtime/handler.ts'
import { GiveUp } from '../../../workers/runtime/give-up.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** An operation that does nothing but long work, for the rules all such operations share. */
const longWork = endpoint('POST', '/test/long-work', {
  summary: 'Long work',
  access: 'key',
  answers: {},
  async handle(call) {
    const { context, principal } = call
    const id = await context.queue.transaction(context.sql, (tx: Transaction) =>
      admitJob(
        context,
        tx,
        principal,
        buildDataset,
        { version_id: randomUUIDv7() },
        {
          projectId: principal.projectId,
          resultRef: '/test/result',
        },
      ),
    )
    return answerLongWork(call, id, 201, async () => ({ status: 'seen' }))
  },
})

t.test('the job resource', async (t) => {
  const service = await openService(t, { operations: [...operations, longWork] })
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const submit = async () =>
    (await client.post('/test/long-work', {}, { prefer: 'respond-async' })).body.job_id as string

  let release = () => {}
  let fail: Error | undefined
  async function startWorker() {
    const blocked = new Promise<void>((resolve) => {
      release = resolve
    })
    return service.startWorkers([
      handler(buildDataset, async (_, run: Run) => {
        run.progress({ done: 1, total: 4, unit: 'rows', note: 'counting' })
        await Promise.race([
          blocked,
          new Promise((_resolve, reject) =>
            run.signal.addEventListener('abort', () => reject(new Error('aborted'))),
          ),
        ])
        if (fail) throw fail
        return { rows: 4 }
      }),
    ])
  }

  t.test('is answered with 202 and where to look when the client does not wait', async (t) => {
    const answer = await client.post('/test/long-work', {}, { prefer: 'respond-async' })
    t.equal(answer.status, 202)
    t.match(answer.headers, {
      location: `/api/v1/jobs/${answer.body.job_id}`,
      'retry-after': /^\d+$/,
      'preference-applied': 'respond-async',
    })
    const job = await client.get(`/jobs/${answer.body.job_id}`)
    t.match(job, {
      status: 200,
      headers: { 'retry-after': /^\d+$/ },
      body: {
        state: 'queued',
        done: false,
        kind: 'dataset.build',
        links: { result: '/api/v1/test/result' },
      },
    })
    t.equal((await client.post(`/jobs/${answer.body.job_id}/cancel`)).status, 200)
  })

  t.test(
    'is answered with 202 after the preferred wait, and with 201 when it ends within it',
    async (t) => {
      const worker = await startWorker()
      const early = await client.post('/test/long-work', {}, { prefer: 'wait=1' })
      t.match(early, { status: 202, headers: { 'preference-applied': 'wait=1' } })
      const running = await until(async () => {
        const { body } = await client.get(`/jobs/${early.body.job_id}`)
        return body.progress.done > 0 && body
      })
      t.match(running, {
        state: 'running',
        progress: { done: 1, total: 4, unit: 'rows', percent: 25 },
      })
      release()
      const ended = await client.get(`/jobs/${early.body.job_id}?wait=20`)
      t.match(ended.body, { state: 'succeeded', done: true, result: { rows: 4 } })
      t.ok(ended.body.expires_at > ended.body.finished_at)
      const inTime = await client.post('/test/long-work')
      t.match(inTime, { status: 201, body: { status: 'seen' } })
      await worker.stop()
    },
  )

  t.test('has an ETag that changes with it', async (t) => {
    const id = await submit()
    const first = await client.get(`/jobs/${id}`)
    const same = await client.get(`/jobs/${id}`, { 'if-none-match': first.headers['etag'] ?? '' })
    t.equal(same.status, 304)
    await client.post(`/jobs/${id}/cancel`)
    const changed = await client.get(`/jobs/${id}`, {
      'if-none-match': first.headers['etag'] ?? '',
    })
    t.match(changed, { status: 200, body: { state: 'canceled' } })
  })

  t.test('cancel answers 200 waiting, 202 running, 200 again, 409 finished', async (t) => {
    const waiting = await submit()
    t.match(await client.post(`/jobs/${waiting}/cancel`), {
      status: 200,
      body: { state: 'canceled' },
    })
    t.match(await client.post(`/jobs/${waiting}/cancel`), {
      status: 200,
      body: { state: 'canceled' },
    })
    const worker = await startWorker()
    const running = await submit()
    await until(async () => (await client.get(`/jobs/${running}`)).body.state === 'running')
    t.match(await client.post(`/jobs/${running}/cancel`), {
      status: 202,
      body: { state: 'cancelling' },
    })
    t.match((await client.get(`/jobs/${running}?wait=20`)).body, { state: 'canceled' })
    release()
    const done = await submit()
    await client.get(`/jobs/${done}?wait=20`)
    t.match(await client.post(`/jobs/${done}/cancel`), { status: 409, body: { code: 'conflict' } })
    await worker.stop()
  })

  t.test('retry starts a failed job again and refuses any other', async (t) => {
    const worker = await startWorker()
    release()
    fail = new Error('broken')
    const id = await submit()
    await until(async () => (await client.get(`/jobs/${id}`)).body.error?.code === 'internal_error')
    t.equal((await client.post(`/jobs/${id}/retry`)).status, 409)
    await service.sql`
      update jobs set state = 'failed', finished_at = now() where id = ${id} and state = 'queued'`
    fail = undefined
    t.equal((await client.post(`/jobs/${id}/retry`)).status, 409, 'its queue still holds it')
    await service.sql`delete from pgboss.job where data->>'job_id' = ${id}`
    // Else the worker may have begun before the answer is read.
    await worker.stop()
    t.match(await client.post(`/jobs/${id}/retry`), {
      status: 202,
      body: { state: 'queued', error: null },
    })
    const another = await startWorker()
    release()
    t.match((await client.get(`/jobs/${id}?wait=20`)).body, { state: 'succeeded' })
    await another.stop()
  })

  t.test('retry of what another try does not mend is refused unless it is forced', async (t) => {
    const worker = await startWorker()
    release()
    fail = new GiveUp('version_gone', 'The dataset version has been deleted')
    const id = await submit()
    t.match((await client.get(`/jobs/${id}?wait=20`)).body, {
      state: 'failed',
      error: { code: 'version_gone', retryable: false },
    })
    await worker.stop()
    fail = undefined
    const refused = await client.post(`/jobs/${id}/retry`)
    t.match(refused, { status: 409, body: { code: 'not_retryable', detail: /version_gone/ } })
    t.match(await client.post(`/jobs/${id}/retry`, { force: false }), { status: 409 })
    t.match((await client.get(`/jobs/${id}`)).body, { state: 'failed' })
    t.match(await client.post(`/jobs/${id}/retry`, { force: true }), {
      status: 202,
      body: { state: 'queued', error: null },
    })
    t.equal((await client.post(`/jobs/${id}/cancel`)).status, 200)
  })

  t.test('tells of each attempt how it went', async (t) => {
    const worker = await startWorker()
    release()
    fail = new Error('the first time')
    const id = await submit()
    await until(async () => (await client.get(`/jobs/${id}`)).body.error)
    fail = undefined
    await service.sql`update pgboss.job set start_after = now() where data->>'job_id' = ${id}`
    const { body } = await client.get(`/jobs/${id}?wait=20`)
    t.match(body, { state: 'succeeded', attempt: 2, error: null })
    t.match(body.history, [
      { attempt: 1, outcome: 'failed', error: { code: 'internal_error', retryable: true } },
      { attempt: 2, outcome: 'succeeded', error: null },
    ])
    t.ok(body.history[0].ended_at <= body.history[1].started_at)
    const listed = await client.get('/jobs?limit=1')
    t.notOk('history' in listed.body.jobs[0])
    await worker.stop()
  })

  t.test('that is canceled while it waits leaves its queue at once', async (t) => {
    const id = await submit()
    await client.post(`/jobs/${id}/cancel`)
    const rows = await service.sql`
      select state from pgboss.job where data->>'job_id' = ${id} and state < 'active'`
    t.equal(rows.length, 0)
  })

  t.test('that ends during a look at it is looked at once more, at once', async (t) => {
    const id = await submit()
    let announce = (_: string) => {}
    const listener: typeof deafListener = {
      ...deafListener,
      async listen(_, onPayload) {
        announce = onPayload
      },
    }
    let looks = 0
    let isPolling = false
    // The answer of the first look arrives when the job has ended and this was announced.
    const sql = new Proxy(service.sql, {
      apply(target, self, given) {
        const query = Reflect.apply(target, self, given)
        if (!String(given[0]).includes('from jobs')) return query
        if (++looks > 1) {
          t.notOk(isPolling, 'before the poll')
          return query
        }
        return query.then(async (rows: object[]) => {
          await client.post(`/jobs/${id}/cancel`)
          announce(id)
          // As long as that of the poll, and begun before it.
          setTimeout(() => (isPolling = true), 1000)
          return rows
        })
      },
    })
    const waiter = await openJobWaiter(sql, listener)
    t.match(await waiter.wait(org.orgId, id, 20), { state: 'canceled' })
    t.equal(looks, 2)
  })

  t.test('is refused with 429 when as many wait as the plan allows', async (t) => {
    const free = await service.makeOrganization('free')
    await service.sql`
      insert into jobs (org_id, id, kind, queue_job_id)
      select ${free.orgId}, gen_random_uuid(), 'dataset.build', gen_random_uuid()
      from generate_series(1, 24)`
    const theirs = service.client(free.key)
    t.equal((await theirs.post('/test/long-work', {}, { prefer: 'respond-async' })).status, 202)
    t.match(await theirs.post('/test/long-work', {}, { prefer: 'respond-async' }), {
      status: 429,
      headers: { 'retry-after': /^[1-9]\d*$/, 'x-quota-exceeded': 'waiting_jobs' },
      body: { code: 'too_many_jobs', resets_in_seconds: Number },
    })
    await service.sql`delete from jobs where org_id = ${free.orgId} and kind = 'dataset.build'
      and id in (select id from jobs where org_id = ${free.orgId} limit 1)`
    t.equal((await theirs.post('/test/long-work', {}, { prefer: 'respond-async' })).status, 202)
  })

  t.test('says when to ask again by how long such jobs take', async (t) => {
    const slow = await service.makeOrganization()
    const theirs = service.client(slow.key)
    await service.sql`
      insert into jobs (org_id, id, kind, queue_job_id, state, created_at, started_at, finished_at)
      select ${slow.orgId}, gen_random_uuid(), 'dataset.build', gen_random_uuid(), 'succeeded',
        now() - n * interval '1 second', now(), now()
      from generate_series(20, 40) n`
    const startedAt = performance.now()
    const answer = await theirs.post('/test/long-work', {}, { prefer: 'respond-async' })
    const read = await theirs.get(`/jobs/${answer.body.job_id}`)
    const passed = (performance.now() - startedAt) / 1000
    for (const { headers } of [answer, read]) {
      const seconds = Number(headers['retry-after'])
      t.ok(seconds <= 30 && seconds >= 30 - passed, `${seconds}`)
    }
  })

  t.test('lists newest first, by cursor, without a loss or a double', async (t) => {
    const other = await service.makeOrganization()
    const theirs = service.client(other.key)
    const made: string[] = []
    for (let i = 0; i < 5; i++) {
      made.unshift(
        (await theirs.post('/test/long-work', {}, { prefer: 'respond-async' })).body.job_id,
      )
    }
    const first = await theirs.get('/jobs?limit=2')
    t.match(first.body, { total: 5, limit: 2 })
    const seen: string[] = []
    for (let path = '/jobs?limit=2'; path;) {
      const { body } = await theirs.get(path)
      seen.push(...body.jobs.map(({ id }: { id: string }) => id))
      path = body.next_cursor && `/jobs?limit=2&cursor=${body.next_cursor}`
    }
    t.same(seen, made)
    t.equal((await theirs.get('/jobs?state=running')).body.jobs.length, 0)
    t.equal((await theirs.get('/jobs?kind=dataset.build')).body.jobs.length, 5)
    t.equal((await theirs.get('/jobs?cursor=nonsense')).status, 400)
  })

  t.test('is listed without a result of more than 16 KiB', async (t) => {
    const id = await submit()
    for (const [length, isListed] of [
      [16_000, true],
      [17_000, false],
    ] as const) {
      const result = { text: 'x'.repeat(length) }
      await service.sql`update jobs set result = ${JSON.stringify(result)}::text::jsonb where id = ${id}`
      t.same((await client.get(`/jobs/${id}`)).body.result, result)
      const [first] = (await client.get('/jobs?limit=1')).body.jobs
      t.same([first.id, first.result], [id, isListed ? result : null])
    }
    await client.post(`/jobs/${id}/cancel`)
  })

  t.test('is listed by a kind and a state that there are, and by no other words', async (t) => {
    t.equal((await client.get('/jobs?kind=dataset.build&state=succeeded')).status, 200)
    for (const [query, word] of [
      ['kind=dataset.built', 'dataset.build'],
      ['state=stopped', 'succeeded'],
    ] as const) {
      const { status, body } = await client.get(`/jobs?${query}`)
      t.equal(status, 422)
      t.match(body.detail, word, 'it names the words there are')
    }
  })

  t.test('of another organization and a missing one answer alike', async (t) => {
    const other = await service.makeOrganization()
    const id = await submit()
    const foreign = await service.client(other.key).get(`/jobs/${id}`)
    const missing = await service.client(other.key).get(`/jobs/${randomUUIDv7()}`)
    const alike = ({ body }: { body: { request_id?: string } }) => ({ ...body, request_id: null })
    t.equal(foreign.status, 404)
    t.same(alike(foreign), alike(missing))
    for (const action of ['cancel', 'retry']) {
      t.equal((await service.client(other.key).post(`/jobs/${id}/${action}`)).status, 404)
    }
  })

  t.test('of the organization is hidden from a key of one project', async (t) => {
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const id = await submit()
    t.equal((await service.client(scoped.raw).get(`/jobs/${id}`)).status, 404)
    const mine = await service
      .client(scoped.raw)
      .post('/test/long-work', {}, { prefer: 'respond-async' })
    t.equal((await service.client(scoped.raw).get(`/jobs/${mine.body.job_id}`)).status, 200)
    t.equal((await service.client(scoped.raw).get('/jobs')).body.total, 1)
  })
})
