import t from 'tap'
import { applyRepairHandler } from '../../../workers/regression/apply-repair.ts'
import { prepareReplayHandler } from '../../../workers/replay/prepare-replay.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeReplayAgent } from '../../support/replay-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'
const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
const READ = { scope: 'global', permissions: 'read' } as const

t.test('pages of replays', async (t) => {
  await service.startWorkers([prepareReplayHandler])
  const { client, key, orgId, target, store } = await makeReplayAgent(service)
  const read = (await makeTestKey(service.sql, orgId, READ)).raw
  const { see, seeOther } = await openPages(key)

  await t.test('say what a replay is where there is none', async (t) => {
    const page = await see('')
    t.match(page.text, /Nothing is replayed yet .* curl .*\/api\/v1\/replay\/batches/)
    t.ok(page.links.includes('/console/traces?verdict=replay'))
    await checkPage(t, page)
    const none = await see('?status=running')
    t.match(none.text, /0 batches .*No batch matches/)
    await checkPage(t, none)
    t.equal((await see('?status=odd')).status, 422)
  })

  const scored = { scores: { reward: 0.5 } }
  const trace_ids = [
    await store({}, { ...scored, user_input_preview: HOSTILE }),
    await store({}, scored),
    await store({}, { metadata: { replayable: false } }),
    await store({}, scored),
  ]
  const made = await client.post('/replay/batches', {
    target_manifest_id: target,
    trace_ids,
    note: HOSTILE,
  })
  const { id } = made.body
  const path = `/${id}`

  await t.test('of an open batch are live and can be canceled', async (t) => {
    const page = await see(path)
    t.match(page.text, /State pending Recorded under any version/)
    t.match(page.text, /3 pending 75 % ?1 skipped 25 %/)
    t.match(page.text, /No replay is compared yet/)
    t.same(page.actions, ['Cancel'])
    const region = page.document.querySelector('live-region')
    t.equal(region?.getAttribute('src'), `/console/replay${path}/events`)
    t.equal(page.document.querySelectorAll('script').length, 1, 'the own one')
    await checkPage(t, page)
    const readOnly = await see(path, read)
    t.same(readOnly.actions, [])
    await checkPage(t, readOnly)
  })

  await t.test('say why nothing is sent, and go on', async (t) => {
    const { body } = await client.post('/replay/batches', {
      target_manifest_id: target,
      trace_ids,
      mode: 'push',
      runner_url: 'http://127.0.0.1:9/run',
    })
    const pushed = `/${body.id}`
    await service.sql`update replay_batches set paused_reason = ${HOSTILE} where id = ${body.id}`
    const page = await see(pushed)
    t.match(page.text, /sent to the runner, 8 at once Runner http:\/\/127\.0\.0\.1:9\/run/)
    t.match((await see('')).text, /pending ?paused agent/)
    t.match(page.text, /Nothing is sent to the runner: <script>/)
    t.same(page.actions, ['Resume', 'Cancel'])
    await checkPage(t, page)
    await client.post(`/replay/batches${pushed}/resume`)
    t.same((await see(pushed)).actions, ['Cancel'])
    await service.sql`update replay_batches set paused_reason = ${HOSTILE} where id = ${body.id}`
    await client.post(`/replay/batches${pushed}/cancel`)
    const canceled = await see(pushed)
    t.same(canceled.actions, [])
    t.notMatch(canceled.text, /Nothing is sent/)
    t.notMatch((await see('')).text, /paused/)
  })

  const claimed = await client.post('/replay/tasks/claim', { worker_id: HOSTILE, max: 3 })
  const submit = async (n: number, result: object) => {
    const { id: task, lease_token } = claimed.body.tasks[n]
    await client.post(`/replay/tasks/${task}/submit`, { lease_token, ...result })
  }
  const run = (reward: number, answer: string) => ({
    status: 'completed',
    trace: {
      final_output_preview: answer,
      llm_calls: [{ rendered_input: [], output: { content: answer } }],
      scores: { reward },
    },
  })
  await submit(0, run(0.9, `second ${HOSTILE}`))
  await submit(1, run(0.1, 'done'))

  await t.test('show who works at a task', async (t) => {
    const page = await see(`${path}?status=leased`)
    t.match(page.text, /Tasks that are leased .* leased ?by <script>.*, ends in \d+/)
    t.equal(page.document.querySelectorAll('.tasks tbody tr').length, 1)
    await checkPage(t, page)
  })

  await submit(2, { status: 'failed' })

  await t.test('show wins and losses, and each task before and after', async (t) => {
    const page = await see(path)
    t.match(page.text, /State completed/)
    t.match(page.text, /1 win 33 % ?2 losses 67 % .* In the mean ±0\.00/)
    t.match(page.text, /▲ win \+0\.40 another answer/)
    t.match(page.text, /▼ loss −0\.40/)
    t.match(page.text, /failed \S+ runner_failed ▼ loss –/)
    t.match(page.text, /replayable not at all/)
    t.same(page.actions, [])
    await checkPage(t, page)
    const both = page.links.find((link) => link.includes('task='))
    const compared = await visit(service, key, both ?? '')
    const cells = [...compared.document.querySelectorAll('#compared .diff tbody td')]
    t.match(cells.map(({ textContent }) => textContent).join('|'), `done|second ${HOSTILE}`)
    await checkPage(t, compared)
    const events = await see(`${path}/events`)
    t.match(events.markup, /^event: change\ndata: ".*▲ win.*event: end/s)
  })

  await t.test('list batches by agent and state', async (t) => {
    const page = await see('?agent_name=agent&status=completed')
    t.match(page.text, /1 batch .* completed agent <script>.* 4 of 4 wins 1 ties 0 losses 2 ±0\.00/)
    t.ok(page.links.includes(`/console/replay${path}`))
    await checkPage(t, page)
    t.equal((await seeOther(path)).status, 404)
    t.match((await seeOther('')).text, /Nothing is replayed yet/)
  })
})

t.test('pages of repairs', async (t) => {
  const agent = await makeAgent(service)
  const read = (await makeTestKey(service.sql, agent.org.orgId, READ)).raw
  const { see, seeOther } = await openPages(agent.org.key)

  await t.test('say what a repair is where there is none', async (t) => {
    const page = await see('?show=repairs')
    t.match(page.text, /Nothing is repaired yet .* curl .*\/api\/v1\/repair\/apply/)
    await checkPage(t, page)
  })

  const string = { type: 'string' }
  const before = await agent.register([
    toolComponent('refund', { order: string }, ['order']),
    toolComponent('search', { limit: { type: 'integer' } }),
  ])
  const under = { manifest_id: before.manifest_id }
  const refunds = [
    await agent.store([['refund', { order: HOSTILE }, HOSTILE]], under),
    await agent.store([['refund', { order: 'o2' }, 'paid']], under),
  ]
  const search = await agent.store([['search', { limit: 10 }]], under)
  const after = await agent.propose([
    toolComponent('refund', { order_id: string }, ['order_id']),
    toolComponent('search', { limit: string }),
  ])
  const pair = { old_manifest_id: before.manifest_id, new_manifest_id: after.manifest_id }
  const waiting = await agent.client.post(
    '/repair/apply-selective',
    { ...pair, approved_rule_indices: [0] },
    { prefer: 'respond-async' },
  )
  const path = `/repairs/${waiting.body.batch_id}`

  await t.test('of a repair that waits are live', async (t) => {
    const page = await see(path)
    t.match(page.text, /State queued .* Rules 1 approved .*None so far\./)
    const region = page.document.querySelector('live-region')
    t.equal(region?.getAttribute('src'), `/console/replay${path}/events`)
    t.same(page.actions, [])
    await checkPage(t, page)
  })

  await service.startWorkers([applyRepairHandler])
  await agent.client.get(`/jobs/${waiting.body.job_id}?wait=30`)

  await t.test('show the rules, what they made, and a trace before and after', async (t) => {
    const page = await see(path)
    t.match(page.text, /2 repaired 67 % ?1 skipped: they need a rule that was not approved 33 %/)
    t.match(page.text, /0 rename param refund order is called order_id 2/)
    t.match(page.document.querySelector('.diff del')?.textContent, 'order')
    t.match(page.document.querySelector('.diff ins')?.textContent, 'order_id')
    t.equal(page.document.querySelectorAll('script').length, 1, 'the own one')
    t.equal(page.document.querySelector('live-region')?.getAttribute('src'), null)
    await checkPage(t, page)
    for (const id of refunds) {
      const compared = await see(`${path}?trace_id=${id}`)
      t.ok(compared.links.some((link) => link.startsWith(`/console/traces/${id}`)))
      t.equal(compared.document.querySelectorAll('#compared ~ .scroll ins').length, 1)
    }
    const none = await see(`${path}?trace_id=${search}`)
    t.match(none.text, /The trace was changed or deleted since, or a later repair took it over/)
    await checkPage(t, none)
    const events = await see(`${path}/events`)
    t.match(events.markup, /^event: change\ndata: ".*rename param.*event: end/s)
  })

  await t.test('lead to traces that could not be repaired, in their project', async (t) => {
    const { orgId, projectId } = agent.org
    await service.sql`
      insert into repair_failures (org_id, batch_id, trace_id, code)
      values (${orgId}, ${waiting.body.batch_id}, 'broken', 'invalid')`
    t.ok((await see(path)).links.includes(`/console/traces/broken?project=${projectId}`))
  })

  await t.test('let who may write apply all rules', async (t) => {
    const page = await see(path)
    t.same(page.actions, ['Apply all rules again'])
    const button = page.document.querySelector('main [data-send]')
    t.equal(button?.getAttribute('data-send'), 'POST /api/v1/repair/apply')
    const body = JSON.parse(button?.getAttribute('data-body') ?? '') as object
    const again = await agent.client.post('/repair/apply', body)
    t.match((await see(`/repairs/${again.body.batch_id}`)).text, /Rules all .* 3 repaired 100 %/)
    const readOnly = await see(path, read)
    t.same(readOnly.actions, [])
    await checkPage(t, readOnly)
  })

  await t.test('list repairs, and show nothing of others', async (t) => {
    const page = await see('?show=repairs')
    t.match(page.text, /completed support .* repaired 3 .*all .*completed support .* skipped 1/)
    t.ok(page.links.includes(`/console/replay${path}`))
    t.equal(page.document.querySelectorAll('[data-row]').length, 2)
    await checkPage(t, page)
    t.equal((await seeOther(path)).status, 404)
  })
})

/** Looks at pages with the given key, or with that of another organization. */
async function openPages(key: string) {
  const other = await service.makeOrganization()
  const see = (path: string, as = key) => visit(service, as, `/console/replay${path}`)
  return { see, seeOther: (path: string) => see(path, other.key) }
}
