import { randomUUID } from 'node:crypto'
import t from 'tap'
import { tool } from '../../support/manifests.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

t.test('claims of replay tasks', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** An agent with a version, and a batch with a task for each of its traces. */
  async function prepared(n: number) {
    const agent = await registeredAgent(service)
    const target = await agent.register([tool('search', { q: { type: 'string' } })])
    const traces = await agent.traces(target, n, { tool: 'search' })
    const batch = await insertReplayBatch(sql, agent, traces, { target })
    return { ...agent, target, traces, batch }
  }
  const runOut = (orgId: string) =>
    sql`update replay_tasks set leased_until = now() - interval '1 s'
      where org_id = ${orgId} and status = 'leased'`

  t.test('a claim gives tasks with their input and a lease', async (t) => {
    const { client, batch, target, traces } = await prepared(2)
    const asked = Date.now()
    const { status, body } = await client.post('/replay/tasks/claim', {
      worker_id: 'w',
      lease_seconds: 120,
      something_new: 1,
    })
    t.equal(status, 200)
    t.match(body.tasks, [
      {
        id: batch.tasks[0],
        batch_id: batch.id,
        trace_id: traces[0],
        replayability: 'full',
        attempt: 1,
        task_input: {
          user_input: 'hello',
          agent_name: 'agent',
          original_output: 'done',
          target_manifest: { manifest_id: target, version_label: 'v1' },
        },
      },
    ])
    t.equal(body.tasks.length, 1, 'one unless more are asked for')
    const left = Date.parse(body.tasks[0].leased_until) - asked
    t.ok(left > 100_000 && left < 180_000, `${left} ms`)
    const shown = await client.get(`/replay/tasks/${batch.tasks[0]}`)
    t.match(shown.body, { status: 'leased', attempt: 1 })
    t.notOk(shown.body.lease_token)
    t.equal((await client.get(`/replay/batches/${batch.id}`)).body.status, 'running')
  })

  t.test('without a task the answer says when to ask again', async (t) => {
    const { client } = await prepared(0)
    const empty = await client.post('/replay/tasks/claim', { worker_id: 'w' })
    t.match(empty, { status: 200, body: { tasks: [] }, headers: { 'retry-after': '5' } })
  })

  t.test('a claim names a batch that the caller may see', async (t) => {
    const { client, batch } = await prepared(0)
    const named = (batch_id: string, from = client) =>
      from.post('/replay/tasks/claim', { worker_id: 'w', batch_id })
    t.match(await named(batch.id), { status: 200, body: { tasks: [] } })
    const unknown = { status: 404, body: { detail: 'Replay batch not found' } }
    const stranger = service.client((await service.makeOrganization()).key)
    t.match(await named(batch.id, stranger), unknown)
    for (const batch_id of [randomUUID(), 'none', '']) t.match(await named(batch_id), unknown)
  })

  t.test('a task whose trace is gone is skipped, and another one given out', async (t) => {
    const { client, orgId, batch, traces } = await prepared(4)
    await sql`delete from traces where org_id = ${orgId} and trace_id = any(${traces.slice(0, 2)})`
    const { body } = await client.post('/replay/tasks/claim', { worker_id: 'w', max: 2 })
    t.same(
      body.tasks.map(({ id }: { id: string }) => id),
      batch.tasks.slice(2),
    )
    t.match((await client.get(`/replay/tasks/${batch.tasks[0]}`)).body, {
      status: 'skipped',
      reason: 'trace_gone',
      task_input: null,
    })
  })

  t.test('a task whose trace cannot be opened is skipped, and others given out', async (t) => {
    const { client, orgId, batch, traces } = await prepared(3)
    const [, damaged = ''] = traces
    await sql`update traces set content = 'x' where org_id = ${orgId} and trace_id = ${damaged}`
    const { status, body } = await client.post('/replay/tasks/claim', { worker_id: 'w', max: 3 })
    t.equal(status, 200)
    t.same(
      body.tasks.map(({ id }: { id: string }) => id),
      [batch.tasks[0], batch.tasks[2]],
    )
    t.match(await client.get(`/replay/tasks/${batch.tasks[1]}`), {
      status: 200,
      body: { status: 'skipped', reason: 'trace_unreadable', task_input: null },
    })
  })

  t.test('a claim says what is wrong with it', async (t) => {
    const { client } = await prepared(0)
    for (const [body, field] of [
      [{}, 'body.worker_id'],
      [{ worker_id: '' }, 'body.worker_id'],
      [{ worker_id: 'x'.repeat(257) }, 'body.worker_id'],
      [{ worker_id: 'w', max: 0 }, 'body.max'],
      [{ worker_id: 'w', max: 51 }, 'body.max'],
      [{ worker_id: 'w', lease_seconds: 3601 }, 'body.lease_seconds'],
    ] as const) {
      const { status, body: answer } = await client.post('/replay/tasks/claim', body)
      t.match([status, answer.details.errors], [422, [{ field }]], JSON.stringify(body))
    }
  })

  t.test('keys get the tasks of their own projects, and no other organization any', async (t) => {
    const { client, orgId, workspaceId, batch, traces, target } = await prepared(1)
    const { body: other } = await client.post('/projects', {
      name: 'other',
      workspace_id: workspaceId,
    })
    const own = { orgId, projectId: other.id as string }
    await storeJudged(sql, own, [{ trace_id: traces[0] as string }])
    const elsewhere = await insertReplayBatch(sql, own, traces, { target })
    const key = await makeTestKey(sql, orgId, {
      scope: 'project',
      permissions: 'write',
      project_id: own.projectId,
    })
    const confined = service.client(key.raw)
    const claim = { worker_id: 'w', max: 50 }
    const claimed = (await confined.post('/replay/tasks/claim', claim)).body.tasks
    t.match(claimed, [{ batch_id: elsewhere.id }])
    t.equal(claimed.length, 1)
    const stranger = service.client((await service.makeOrganization()).key)
    t.same((await stranger.post('/replay/tasks/claim', claim)).body.tasks, [])
    const named = { ...claim, project: 'default' }
    t.match((await client.post('/replay/tasks/claim', named)).body.tasks, [{ batch_id: batch.id }])
    t.equal((await confined.post('/replay/tasks/claim', named)).status, 403)
    const reader = await makeTestKey(sql, orgId, { scope: 'global', permissions: 'read' })
    t.equal((await service.client(reader.raw).post('/replay/tasks/claim', claim)).status, 403)
    const heartbeat = { lease_token: claimed[0].lease_token }
    const path = `/replay/tasks/${claimed[0].id}/heartbeat`
    t.equal((await confined.post(path, heartbeat)).status, 200)
    t.match(await stranger.post(path, heartbeat), {
      status: 404,
      body: { detail: 'Replay task not found' },
    })
    t.equal((await stranger.post('/replay/tasks/none/heartbeat', heartbeat)).status, 404)
  })

  t.test('a heartbeat prolongs a lease as long as it is the present one', async (t) => {
    const { client, orgId, batch } = await prepared(1)
    const claim = async () =>
      (await client.post('/replay/tasks/claim', { worker_id: 'w' })).body.tasks[0]
    const path = `/replay/tasks/${batch.tasks[0]}/heartbeat`
    const { lease_token } = await claim()
    await runOut(orgId)
    const { status, body } = await client.post(path, { lease_token, lease_seconds: 600 })
    t.equal(status, 200)
    t.ok(Date.parse(body.leased_until) > Date.now() + 500_000)
    await runOut(orgId)
    const second = await claim()
    t.equal(second.attempt, 2)
    for (const token of [lease_token, randomUUID(), 'x']) {
      const lost = await client.post(path, { lease_token: token })
      t.match(lost, { status: 409, body: { code: 'lease_lost' } })
      t.type(lost.body.detail, 'string')
    }
    await client.post(`/replay/batches/${batch.id}/cancel`)
    t.match(await client.post(path, { lease_token: second.lease_token }), {
      status: 409,
      body: {
        code: 'task_ended',
        detail: { resource: { type: 'replay_task', id: batch.tasks[0], status: 'canceled' } },
      },
    })
  })
})
