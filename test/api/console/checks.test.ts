import t from 'tap'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { checkPage, visit } from '../../support/console.ts'
import type { Visited } from '../../support/console.ts'
import { toolComponent } from '../../support/agents.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('pages of checks', async (t) => {
  const service = await openService(t)
  const { client, key, orgId, projectId, register, propose, traces } =
    await registeredAgent(service)
  const permissions = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, orgId, permissions)).raw
  const see = (path = '', as = key) => visit(service, as, `/console/checks${path}`)
  const search = toolComponent('search', { q: { type: 'string' } }, ['q'])
  const refund = toolComponent('refund', { id: { type: 'string' } })

  await t.test('say what a check is where there is none', async (t) => {
    const page = await see()
    t.match(page.text, /No checks yet .* curl .*\/api\/v1\/regression-check/)
    await checkPage(t, page)
    const none = await see('?verdict=high_risk')
    t.match(none.text, /0 checks .*No check matches/)
    await checkPage(t, none)
    t.equal((await see('?verdict=odd')).status, 422)
  })

  const v1 = await register([search, refund, toolComponent(HOSTILE)])
  const passing = await traces(v1, 3, { tool: 'search', quality: 1 })
  await traces(v1, 1, { tool: 'search', quality: 0.1 })
  await traces(v1, 2, { tool: 'refund', quality: 1 })
  const candidate = await propose([
    toolComponent('find', { q: { type: 'string' } }, ['q']),
    toolComponent('refund', { id: { type: 'string' }, why: { type: 'string', default: '' } }, [
      'why',
    ]),
  ])
  const ask = { agent_name: 'agent', candidate_manifest_id: candidate, source: HOSTILE }
  const running = (await client.post('/regression-check', ask, { prefer: 'respond-async' })).body

  await t.test('of a check that runs are live', async (t) => {
    const page = await see(`/${running.id}`)
    t.match(page.text, /The check is running/)
    t.same(page.actions, [], 'nothing is to decide yet')
    t.ok(page.links.includes(`/console/jobs/${running.job_id}`))
    const region = page.document.querySelector('live-region')
    t.equal(region?.getAttribute('src'), `/console/checks/${running.id}/events`)
    await checkPage(t, page)
    const list = await see()
    t.match(list.text, /running agent v2 against v1 – open/)
    await checkPage(t, list)
  })

  await service.startWorkers([checkRegressionHandler])
  await client.get(`/jobs/${running.job_id}?wait=30`)
  const path = `/${running.id}`

  await t.test('show what the candidate breaks, and which traces use it', async (t) => {
    const page = await see(path)
    t.match(page.text, /high risk .* High risk/)
    t.match(
      page.text,
      /tool renamed .* used by 4 of 6 traces 3 passed, 1 failed, 0 without a score/,
    )
    const flow = page.document.querySelector('.flow')
    t.equal(
      flow?.getAttribute('aria-label'),
      'Traces by their scores: 5 passing to be repaired, 1 failing to be repaired',
    )
    t.equal(flow?.querySelectorAll('.ribbon.v-repair').length, 2)
    t.match(page.text, /search tool renamed 4 to be repaired/)
    t.match(page.text, /1 evaluator judged what changes reward/)
    for (const trace of passing) {
      t.ok(page.links.includes(`/console/traces/${trace}?project=${projectId}`))
    }
    t.ok(page.links.includes(`/console/manifests/${candidate}`))
    t.ok(page.links.includes(`/console/manifests/${v1}`))
    t.ok(page.text.includes('<script>alert(1)</script>'), 'as text')
    t.equal(page.document.querySelectorAll('script').length, 1)
    t.equal(page.document.querySelector('live-region')?.getAttribute('src'), null)
    await checkPage(t, page)
    const events = await see(`${path}/events`)
    t.match(events.markup, /^event: change\ndata: ".*high risk.*event: end/s)
  })

  await t.test('list checks by agent and verdict', async (t) => {
    const page = await see('?agent_name=agent&verdict=high_risk')
    t.match(page.text, /1 check Verdict .* high risk agent v2 against v1 6 of 6/)
    t.ok(page.links.includes(`/console/checks${path}`))
    await checkPage(t, page)
    t.match((await see('?agent_name=other')).text, /No check matches/)
    const kept = (await see('?project=default')).document.querySelector('.filters [name=project]')
    t.equal(kept?.getAttribute('value'), 'default')
  })

  await t.test('compare the metrics of traces of both versions', async (t) => {
    const next = await register([search, refund])
    await traces(v1, 40, { tool: 'refund', quality: (i) => 0.9 + (i % 2) / 20 })
    await traces(next, 40, { tool: 'refund', quality: (i) => 0.4 + (i % 2) / 20 })
    const { body } = await client.post('/regression-check', {
      agent_name: 'agent',
      candidate_manifest_id: next,
      baseline_manifest_id: v1,
    })
    const page = await see(`/${body.id}`)
    t.match(
      page.text,
      /Metrics .* reward \d+ and 40 traces.* regressed 0\.\d+ 0\.\d+ -0\.\d+, between/,
    )
    await checkPage(t, page)
    t.match(confirmOf(page), /It stays the active version; activate another one on its page/)
  })

  await t.test('let who may write accept or reject', async (t) => {
    t.same((await see(path)).actions, ['Reject', 'Accept'])
    t.equal(confirmOf(await see(path)), null, 'a draft')
    t.same((await see(path, read)).actions, [])
    await checkPage(t, await see(path, read))
    const button = (await see(path)).document.querySelector('main [data-send]')
    const [, url = ''] = button?.getAttribute('data-send')?.split(' ') ?? []
    const body = JSON.parse(button?.getAttribute('data-body') ?? '') as object
    await client.post(url.replace('/api/v1', ''), { ...body, note: HOSTILE })
    const page = await see(path)
    t.match(page.text, /high risk rejected .* rejected \d+ s ago <script>alert/)
    t.same(page.actions, ['Accept'])
    await checkPage(t, page)
    t.match((await see()).text, /rejected/)
  })

  await t.test('show checks of a release that told less', async (t) => {
    await service.sql`
      update regression_checks set findings = findings - 'verdicts_by_score' || jsonb_build_object(
        'impacts', (select jsonb_agg(i - 'verdicts') from jsonb_array_elements(findings->'impacts') i))
      where id = ${running.id}`
    const page = await see(path)
    t.match(page.text, /0 stay as they are 0 % 6 to be repaired 100 %/)
    t.equal(page.document.querySelector('.flow'), null)
    t.match(page.text, /search tool renamed tool search/)
    await checkPage(t, page)
  })

  await t.test('tell why a check failed', async (t) => {
    const { body } = await client.post('/regression-check', ask)
    await service.sql`
      update regression_checks set verdict = null, findings = null, completed_at = null
      where id = ${body.id}`
    await service.sql`
      update jobs set state = 'failed', error = ${JSON.stringify({ code: 'x', message: HOSTILE })}::text::jsonb
      where id = ${body.job_id}`
    const page = await see(`/${body.id}`)
    t.match(page.text, /The check failed <script>alert/)
    t.same(page.actions, [])
    await checkPage(t, page)
  })

  await t.test('show nothing of others', async (t) => {
    const other = await service.makeOrganization()
    t.equal((await see(path, other.key)).status, 404)
    t.match((await see('', other.key)).text, /No checks yet/)
  })
})

/** What is asked before a candidate is rejected. */
function confirmOf({ document }: Visited) {
  const reject = [...document.querySelectorAll('main [data-send]')].find(
    ({ textContent }) => textContent.trim() === 'Reject',
  )
  return reject?.getAttribute('data-confirm')
}
