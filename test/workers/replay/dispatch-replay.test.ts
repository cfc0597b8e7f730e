import { createHmac, randomUUID } from 'node:crypto'
import t from 'tap'
import { WAKE_CHANNEL } from '../../../jobs/queue.ts'
import { sealSecret } from '../../../jobs/rules/core/secret-box.ts'
import { readMasterKey } from '../../../ops/outbound.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { pauseBatch } from '../../../sql/replay/pushed-tasks.ts'
import { resumeDispatch, startDispatch } from '../../../sql/transactions/start-dispatch.ts'
import { cancelJob } from '../../../sql/transactions/cancel-job.ts'
import { setWebhookSecret } from '../../../sql/webhooks/notifications.ts'
import { dispatchHandler } from '../../../workers/replay/dispatch-replay.ts'
import { gate } from '../../support/queues.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { answer, startRunner } from '../../support/runner.ts'
import type { PushReceived, Respond } from '../../support/runner.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

const DONE = { status: 'completed', eval_score: 0.9 }

t.test('tasks sent to a runner', async (t) => {
  const service = await openService(t, {
    env: {
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      PUBLIC_URL: 'https://api.example/',
      QUOTA_TRACES_INGESTED: '1,9,9,999999',
    },
  })
  const { sql } = service
  const { queue } = service.context
  const quick = dispatchHandler({ backoffSeconds: 0, patienceSeconds: 0, drainSeconds: 0 })
  const first = await service.startWorkers([quick], 20)

  /** A batch of its own organization, with a task a trace; it is not sent before `start`. */
  async function prepare(respond: Respond, tasks = 1, { maxInFlight = 8 } = {}) {
    const runner = await startRunner(t, respond)
    const org = await service.makeOrganization('enterprise')
    const traces = Array.from({ length: tasks }, (_, i) => `t${i}`)
    await storeJudged(
      sql,
      org,
      traces.map((trace_id) => ({ trace_id })),
    )
    const { id: batchId } = await insertReplayBatch(sql, org, traces, { mode: 'push' })
    await sql`
      update replay_batches set runner_url = ${runner.url}, max_in_flight = ${maxInFlight}
      where id = ${batchId}`
    const { orgId, projectId, keyId: createdBy } = org
    const batch = { orgId, projectId, batchId, createdBy }
    const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) => queue.transaction(sql, work)
    let jobId = ''
    const show = async () => {
      const [row] = await sql<
        { state: string; result: object | null; paused_reason: string | null }[]
      >`
        select j.state, j.result, b.paused_reason from replay_batches b
        join jobs j on j.id = b.dispatch_job_id where b.id = ${batchId}`
      return row
    }
    return {
      ...org,
      runner,
      batchId,
      client: service.client(org.key),
      show,
      jobId: () => jobId,
      async start() {
        jobId = await inTransaction((tx) => startDispatch(tx, queue, batch))
      },
      resume: () => inTransaction((tx) => resumeDispatch(tx, queue, { ...batch, createdBy: null })),
      cancelDispatch: () => inTransaction((tx) => cancelJob(tx, queue, org.orgId, jobId)),
      /** The job's result, once it has ended. */
      ended: () =>
        until(async () => {
          const row = await show()
          return ['succeeded', 'failed', 'canceled'].includes(row?.state ?? '') && row
        }),
      tasks: () => sql<TaskState[]>`
        select status, reason, attempt, eval_score from replay_tasks
        where batch_id = ${batchId} order by ordinal`,
      /** Lets the wait of the job be over, and the leases too where they are to be. */
      async skipTime({ leases = false } = {}) {
        if (leases) {
          await sql`
            update replay_tasks set leased_until = now() - interval '1 s'
            where batch_id = ${batchId} and status = 'leased'`
        }
        await sql`
          update pgboss.job set start_after = now() where name = 'replay.dispatch' and state < 'active'
            and data -> 'payload' ->> 'batch_id' = ${batchId}`
        await sql`select pg_notify(${WAKE_CHANNEL}, 'replay.dispatch')`
      },
    }
  }

  async function begin(...given: Parameters<typeof prepare>) {
    const batch = await prepare(...given)
    await batch.start()
    return batch
  }
  const sentOf = (received: readonly PushReceived[]) =>
    received.map(({ body: { task } }) => `${task.trace_id}:${task.attempt}`)

  t.test('carry all that a runner needs, signed as webhooks are', async (t) => {
    const batch = await prepare(answer(200, DONE))
    const masterKey = await readMasterKey(service.config)
    await setWebhookSecret(sql, batch.orgId, sealSecret(masterKey, Buffer.alloc(12, 7), 'whsec_r'))
    await batch.start()
    t.match(await batch.ended(), { state: 'succeeded', result: { status: 'completed' } })
    const [received] = batch.runner.received
    const { task } = received?.body ?? {}
    t.match(received?.body, {
      protocol: 1,
      batch_id: batch.batchId,
      task: {
        trace_id: 't0',
        attempt: 1,
        replayability: 'full',
        lease_token: /^[0-9a-f-]{36}$/,
        leased_until: /Z$/,
        task_input: { agent_name: 'agent', user_input: 'you' },
      },
      submit_url: `https://api.example/api/v1/replay/tasks/${task?.id}/submit`,
      heartbeat_url: `https://api.example/api/v1/replay/tasks/${task?.id}/heartbeat`,
    })
    t.ok(Math.abs(Date.parse(received?.body.sent_at ?? '') - Date.now()) < 60_000)
    const signature = createHmac('sha256', 'whsec_r')
      .update(received?.raw ?? '')
      .digest('hex')
    t.match(received?.headers, {
      'content-type': 'application/json',
      'x-service-event': 'replay.task',
      'x-service-event-id': `${task?.id}:${task?.lease_token}`,
      'x-service-signature': `sha256=${signature}`,
    })
    t.notMatch(JSON.stringify([received?.headers, received?.body]), batch.key)
    t.notOk(received?.headers.authorization)
  })

  t.test('have their results from answers 200, each once', async (t) => {
    const batch = await begin(answer(200, DONE), 20)
    t.match(await batch.ended(), { result: { status: 'completed' } })
    const tasks = await batch.tasks()
    t.equal(tasks.length, 20)
    for (const task of tasks) t.match(task, { status: 'completed', attempt: 1, eval_score: 0.9 })
    t.equal(new Set(sentOf(batch.runner.received)).size, 20)
    t.equal(batch.runner.received.length, 20)
  })

  t.test('are never more at once than the batch allows', async (t) => {
    let most = 0
    let open = 0
    const batch = await begin(
      async (_, response) => {
        most = Math.max(most, ++open)
        await new Promise((resolve) => setImmediate(resolve))
        open--
        response.end(JSON.stringify(DONE))
      },
      12,
      { maxInFlight: 3 },
    )
    await batch.ended()
    t.ok(most <= 3, `${most} at once`)
    t.equal(batch.runner.received.length, 12)
  })

  t.test('that a runner takes are in flight until it submits them', async (t) => {
    const batch = await begin(answer(202), 3, { maxInFlight: 2 })
    await until(() => batch.runner.received.length === 2)
    await until(async () => (await batch.show())?.state === 'queued')
    await batch.skipTime()
    t.match(await batch.tasks(), [
      { status: 'leased' },
      { status: 'leased' },
      { status: 'pending' },
    ])
    for (const { body } of batch.runner.received.slice(0, 2)) {
      const { id, lease_token } = body.task
      const path = `/replay/tasks/${id}/submit`
      t.match(await batch.client.post(path, { ...DONE, lease_token }), { status: 200 })
    }
    batch.runner.set(answer(200, DONE))
    await until(async () => {
      await batch.skipTime()
      return (await batch.tasks()).every(({ status }) => status === 'completed')
    })
    t.match(await batch.ended(), { result: { status: 'completed' } })
    t.same(sentOf(batch.runner.received).sort(), ['t0:1', 't1:1', 't2:1'])
  })

  t.test('that a runner takes and forgets are sent again, three times in all', async (t) => {
    const batch = await begin(answer(202))
    await until(async () => {
      await batch.skipTime({ leases: true })
      return (await batch.show())?.state === 'succeeded'
    })
    t.match(await batch.tasks(), [{ status: 'failed', reason: 'lease_lost', attempt: 3 }])
    t.same(sentOf(batch.runner.received), ['t0:1', 't0:2', 't0:3'])
    const ids = batch.runner.received.map(({ headers }) => headers['x-service-event-id'])
    t.equal(new Set(ids).size, 3)
  })

  t.test('that are changing hands when a runner has none are waited for', async (t) => {
    const batch = await prepare(answer(200, DONE))
    await sql.begin(async (tx) => {
      await tx`select from replay_tasks where batch_id = ${batch.batchId} for update`
      await batch.start()
      await until(async () => {
        const [row] = await sql`
          select from pgboss.job where name = 'replay.dispatch'
            and data -> 'payload' ->> 'batch_id' = ${batch.batchId}
            and (start_after > created_on or state = 'completed')`
        return row !== undefined
      })
    })
    await batch.skipTime()
    t.match(await batch.ended(), { state: 'succeeded', result: { status: 'completed' } })
    t.match(await batch.tasks(), [{ status: 'completed', attempt: 1 }])
  })

  t.test('that a runner declines are skipped', async (t) => {
    for (const status of [409, 410]) {
      const batch = await begin(answer(status))
      t.match(await batch.ended(), { result: { status: 'completed' } })
      t.match(await batch.tasks(), [{ status: 'skipped', reason: 'runner_declined', attempt: 1 }])
      t.equal(batch.runner.received.length, 1)
    }
  })

  t.test('wait as long as a runner asks, at no attempt', async (t) => {
    const waits: [number, Record<string, string>, number][] = [
      [429, { 'retry-after': '120' }, 120],
      [503, { 'retry-after': '99999' }, 3600],
      [503, {}, 30],
    ]
    for (const [status, headers, seconds] of waits) {
      const batch = await begin(answer(status, undefined, headers))
      await until(() => batch.runner.received.length === 1)
      await until(async () => (await batch.show())?.state === 'queued')
      const [row] = await sql<{ wait: number }[]>`
        select extract(epoch from start_after - created_on)::float8 as wait from pgboss.job
        where name = 'replay.dispatch' and state < 'active'
          and data -> 'payload' ->> 'batch_id' = ${batch.batchId}`
      t.ok(row && row.wait > seconds - 20 && row.wait <= seconds, `${row?.wait} of ${seconds} s`)
      t.match(await batch.tasks(), [{ status: 'pending', attempt: 0 }])
      t.equal(await batch.cancelDispatch(), 'canceled', 'at once')
    }
  })

  t.test('are sent on, as a new event with a new lease, when the wait is over', async (t) => {
    const batch = await begin(answer(503, undefined, { 'retry-after': '1' }))
    await until(() => batch.runner.received.length === 1)
    batch.runner.set(answer(200, DONE))
    t.match(await batch.ended(), { result: { status: 'completed' } })
    t.match(await batch.tasks(), [{ status: 'completed', attempt: 1 }])
    const [refused, taken] = batch.runner.received
    t.not(refused?.headers['x-service-event-id'], taken?.headers['x-service-event-id'])
    t.not(refused?.body.task.lease_token, taken?.body.task.lease_token)
  })

  t.test('are sent three times where the runner fails, and fail with the word of it', async (t) => {
    const failing: [Respond, string][] = [
      [answer(500, DONE), 'http_status'],
      [answer(201, DONE), 'unexpected_status'],
      [answer(307, DONE, { location: 'http://127.0.0.1:1/' }), 'redirect'],
      [(_, response) => response.destroy(), 'connection_reset'],
      [answer(200), 'invalid_result'],
      [answer(200, { ok: true }), 'invalid_result'],
      [(_, response) => response.end('{"status": "completed", "eval_score": 1'), 'invalid_result'],
      [answer(200, { status: 'completed' }), 'refused_result'],
      [answer(200, { ...DONE, lease_token: randomUUID() }), 'refused_result'],
      [(_, response) => response.end(Buffer.alloc((16 << 20) + 1, 32)), 'too_large'],
    ]
    await Promise.all(
      failing.map(async ([respond, reason]) => {
        const batch = await begin(respond)
        t.match(await batch.ended(), { result: { status: 'completed' } }, reason)
        t.match(await batch.tasks(), [{ status: 'failed', reason, attempt: 3 }], reason)
        t.same(sentOf(batch.runner.received), ['t0:1', 't0:2', 't0:3'], reason)
      }),
    )
  })

  t.test('have the results that runners report, failures too', async (t) => {
    const results = new Map<string, object>([
      ['t0', { status: 'failed', error: 'no tool' }],
      ['t1', { status: 'skipped', error: 'not for me' }],
      ['t2', DONE],
    ])
    const batch = await begin(
      ({ body: { task } }, response) =>
        response.end(
          JSON.stringify({ ...results.get(task.trace_id), lease_token: task.lease_token }),
        ),
      3,
    )
    await batch.ended()
    t.match(await batch.tasks(), [
      { status: 'failed', reason: 'no tool' },
      { status: 'skipped', reason: 'not for me' },
      { status: 'completed' },
    ])
  })

  t.test(
    'that a runner submits before it answers have ended, whatever the answer is',
    async (t) => {
      const batch = await prepare(answer(500), 12, { maxInFlight: 1 })
      batch.runner.set(async ({ body: { task } }, response) => {
        const submission = { ...DONE, lease_token: task.lease_token }
        await batch.client.post(`/replay/tasks/${task.id}/submit`, submission)
        response.end('{"ok": true}')
      })
      await batch.start()
      t.match(await batch.ended(), { result: { status: 'completed' }, paused_reason: null })
      for (const task of await batch.tasks()) t.match(task, { status: 'completed', attempt: 1 })
    },
  )

  t.test('are paused after ten failures in a row, and go on when resumed', async (t) => {
    const batch = await begin(answer(500), 5, { maxInFlight: 1 })
    t.match(await batch.ended(), {
      state: 'succeeded',
      result: { status: 'paused', reason: 'runner_failing: http_status' },
      paused_reason: 'runner_failing: http_status',
    })
    t.equal(batch.runner.received.length, 10)
    t.match(await batch.tasks(), [
      { status: 'failed' },
      { status: 'failed' },
      { status: 'failed' },
      { status: 'pending', attempt: 1 },
      { status: 'pending', attempt: 0 },
    ])
    batch.runner.set(answer(200, DONE))
    t.equal(await batch.resume(), true)
    t.equal(await batch.resume(), false, 'once')
    t.match(await batch.ended(), { result: { status: 'completed' }, paused_reason: null })
    t.match((await batch.tasks()).slice(3), [
      { status: 'completed', attempt: 2 },
      { status: 'completed', attempt: 1 },
    ])
    t.equal(await batch.resume(), false, 'there is nothing left')
  })

  t.test(
    'are paused when the key that asked for them is revoked, until another one resumes',
    async (t) => {
      let revoke = async () => {}
      const batch = await prepare(
        async (received, response) => {
          await revoke()
          await answer(200, DONE)(received, response)
        },
        3,
        { maxInFlight: 1 },
      )
      revoke = async () => {
        t.equal((await batch.client.delete(`/api-keys/${batch.keyId}`)).status, 200)
        revoke = async () => {}
      }
      await batch.start()
      const paused = { result: { status: 'paused', reason: 'key_revoked' } }
      t.match(await batch.ended(), { ...paused, paused_reason: 'key_revoked' })
      t.same(sentOf(batch.runner.received), ['t0:1'])
      t.equal(await batch.resume(), true)
      t.match(await batch.ended(), { result: { status: 'completed' }, paused_reason: null })
      t.same(sentOf(batch.runner.received), ['t0:1', 't1:1', 't2:1'])
    },
  )

  t.test('that have all ended pause nothing', async (t) => {
    const batch = await begin(answer(200, DONE))
    await batch.ended()
    const { batchId, jobId } = batch
    t.equal(await pauseBatch(sql, batch.orgId, { batchId, jobId: jobId(), reason: 'x' }), false)
    t.match(await batch.show(), { paused_reason: null })
  })

  t.test('go on as long as one in ten succeeds', async (t) => {
    let sent = 0
    const batch = await begin(
      (received, response) => answer(++sent % 10 === 0 ? 409 : 500)(received, response),
      6,
      { maxInFlight: 1 },
    )
    t.match(await batch.ended(), { result: { status: 'completed' }, paused_reason: null })
    t.ok(sent > 10, `${sent}`)
  })

  t.test('of a batch that was canceled are sent no more', async (t) => {
    const batch = await prepare(answer(200, DONE), 6, { maxInFlight: 1 })
    batch.runner.set(async (_, response) => {
      await sql`update replay_batches set canceled_at = now() where id = ${batch.batchId}`
      response.end(JSON.stringify(DONE))
    })
    await batch.start()
    t.match(await batch.ended(), { state: 'succeeded', result: { status: 'stopped' } })
    t.equal(batch.runner.received.length, 1)
  })

  t.test('whose trace is gone are skipped', async (t) => {
    const batch = await prepare(answer(200, DONE), 2)
    await sql`delete from traces where org_id = ${batch.orgId} and trace_id = 't0'`
    await batch.start()
    await batch.ended()
    t.match(await batch.tasks(), [
      { status: 'skipped', reason: 'trace_gone' },
      { status: 'completed' },
    ])
    t.same(sentOf(batch.runner.received), ['t1:1'])
  })

  t.test('stay with their runner when their job is canceled or its worker stops', async (t) => {
    const hang = () => undefined
    const batch = await begin(hang, 3)
    await until(() => batch.runner.received.length === 3)
    t.equal(await batch.cancelDispatch(), 'cancelling')
    t.match(await batch.ended(), { state: 'canceled' })

    const stopped = await prepare(hang, 3)
    const { stop } = await service.startWorkers([quick], 20)
    await first.stop()
    await stopped.start()
    await until(() => stopped.runner.received.length === 3)
    await stop()
    t.match(await stopped.show(), { state: 'queued' })

    // What ends without an end of its batch can be resumed.
    t.equal(await batch.resume(), true)
    await service.startWorkers([quick], 20)
    for (const one of [batch, stopped]) {
      for (const task of await one.tasks()) t.match(task, { status: 'leased', attempt: 1 })
      for (const { body } of one.runner.received) {
        const { id, lease_token } = body.task
        const path = `/replay/tasks/${id}/submit`
        t.match(await one.client.post(path, { ...DONE, lease_token }), { status: 200 })
      }
      await one.skipTime()
      t.match(await one.ended(), { result: { status: 'completed' } })
      t.equal(one.runner.received.length, 3, 'none is sent again')
    }
  })

  t.test('are answered although the database is lost meanwhile', async (t) => {
    const { opened, open } = gate()
    const batch = await prepare(async (_, response) => {
      await opened
      response.end(JSON.stringify(DONE))
    }, 3)
    await batch.start()
    await until(() => batch.runner.received.length === 3)
    const ended = await sql.begin(async (tx) => {
      await tx`select from replay_batches where id = ${batch.batchId} for update`
      // The next look of the dispatch waits for it.
      return until(async () => {
        const [look] = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'replay_batches'`
        return look
      })
    })
    t.ok(ended)
    open()
    await until(async () => (await batch.tasks()).every(({ status }) => status === 'completed'))
    t.match(await batch.tasks(), Array(3).fill({ attempt: 1 }), 'none is sent again')
    t.equal(batch.runner.received.length, 3)
  })

  t.test('that cannot be read are skipped, and those not stored fail alone', async (t) => {
    const batch = await prepare(({ body: { task } }, response) => {
      const trace_id = task.trace_id === 't2' ? 'unstorable' : `replay of ${task.trace_id}`
      response.end(JSON.stringify({ ...DONE, trace: { trace_id } }))
    }, 4)
    await sql`alter table traces add constraint unstorable check (trace_id <> 'unstorable')`
    t.teardown(() => sql`alter table traces drop constraint unstorable`)
    await sql`
      update traces set content = '\\x00' where org_id = ${batch.orgId} and trace_id = 't1'`
    await batch.start()
    t.match(await batch.ended(), { state: 'succeeded', result: { status: 'completed' } })
    t.match(await batch.tasks(), [
      { status: 'completed', attempt: 1 },
      { status: 'skipped', attempt: 1, reason: 'trace_unreadable' },
      { status: 'failed', attempt: 3, reason: 'internal_error' },
      { status: 'completed', attempt: 1 },
    ])
  })

  t.test('are sent, and paused, by the newest job alone', async (t) => {
    const { runner, batchId, orgId, projectId, tasks } = await prepare(answer(200, DONE), 20)
    const batch = { orgId, projectId, batchId, createdBy: null }
    const [older, newer] = await queue.transaction(sql, async (tx: Transaction) => {
      const ids = [await startDispatch(tx, queue, batch), await startDispatch(tx, queue, batch)]
      const pause = { batchId, jobId: ids[0] ?? null, reason: 'runner_failing' }
      t.equal(await pauseBatch(tx, orgId, pause), false)
      return ids
    })
    const ended = await until(async () => {
      const jobs = await sql<{ id: string; result: object }[]>`
        select id, result from jobs where org_id = ${orgId} and finished_at is not null`
      return jobs.length === 2 && new Map(jobs.map(({ id, result }) => [id, result]))
    })
    t.match(ended.get(older ?? ''), { status: 'stopped' })
    t.match(ended.get(newer ?? ''), { status: 'completed' })
    t.equal(runner.received.length, 20)
    for (const task of await tasks()) t.match(task, { status: 'completed', attempt: 1 })
  })

  t.test('that a worker claims, whatever its name, are not in flight', async (t) => {
    const batch = await prepare(answer(200, DONE), 2, { maxInFlight: 1 })
    const claim = { worker_id: 'push', batch_id: batch.batchId, lease_seconds: 600 }
    const { tasks } = (await batch.client.post('/replay/tasks/claim', claim)).body
    await batch.start()
    await until(() => batch.runner.received.length === 1)
    const { id, lease_token } = tasks[0]
    await batch.client.post(`/replay/tasks/${id}/submit`, { ...DONE, lease_token })
    await until(async () => {
      await batch.skipTime()
      return (await batch.show())?.state === 'succeeded'
    })
    t.match(await batch.tasks(), [{ status: 'completed' }, { status: 'completed' }])
  })

  t.test('are sent no more at once when their batch is canceled', async (t) => {
    const running = await begin(() => undefined, 2)
    await until(() => running.runner.received.length === 2)
    const waiting = await begin(answer(503, undefined, { 'retry-after': '3600' }), 2)
    await until(async () => (await waiting.show())?.state === 'queued')
    await until(() => waiting.runner.received.length > 0)
    for (const batch of [running, waiting]) {
      const path = `/replay/batches/${batch.batchId}/cancel`
      t.match(await batch.client.post(path), { status: 200, body: { status: 'canceled' } })
      t.match(await batch.ended(), { state: 'canceled' })
      for (const task of await batch.tasks()) t.match(task, { status: 'canceled' })
    }
  })

  t.test('wait, with their batch, where there is no quota for their results', async (t) => {
    const batch = await prepare(
      ({ body: { task } }, response) =>
        response.end(
          JSON.stringify({ ...DONE, trace: { trace_id: `replay of ${task.trace_id}` } }),
        ),
      2,
      { maxInFlight: 1 },
    )
    await sql`update organizations set plan = 'free' where id = ${batch.orgId}`
    await batch.start()
    t.match(await batch.ended(), { result: { status: 'paused', reason: 'quota_exceeded' } })
    t.match(await batch.tasks(), [
      { status: 'completed', attempt: 1 },
      { status: 'pending', attempt: 1 },
    ])
    const [stored] = await sql<{ n: number }[]>`
      select count(*)::int as n from traces
      where org_id = ${batch.orgId} and source_type = 'replayed'`
    t.equal(stored?.n, 1)
  })

  t.test('reach no private address', async (t) => {
    await Promise.all(
      ['[::1]', '10.0.0.1', '169.254.169.254'].map(async (host) => {
        const batch = await prepare(answer(200, DONE))
        const url = `http://${host}:${new URL(batch.runner.url).port}/`
        await sql`update replay_batches set runner_url = ${url} where id = ${batch.batchId}`
        await batch.start()
        await batch.ended()
        t.match(await batch.tasks(), [{ status: 'failed', reason: 'blocked_address', attempt: 3 }])
        t.equal(batch.runner.received.length, 0)
      }),
    )
  })
})

interface TaskState {
  readonly status: string
  readonly reason: string | null
  readonly attempt: number
  readonly eval_score: number | null
}
