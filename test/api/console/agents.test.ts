import t from 'tap'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' /\u202Egnp.exe'

t.test('pages of agents', async (t) => {
  const service = await openAgentService(t)
  const { org, client, register, store, settled } = await makeAgent(service)
  const permissions = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, org.orgId, permissions)).raw
  const see = (path = '', as = org.key) => visit(service, as, `/console/agents${path}`)
  const pathOf = (name: string) => `/${encodeURIComponent(name)}`

  await t.test('say how an agent becomes known where there is none', async (t) => {
    const page = await see()
    t.match(page.text, /No agents yet .* curl .*\/api\/v1\/traces/)
    await checkPage(t, page)
  })

  await client.post('/traces', { agent_name: 'quiet', started_at: new Date().toISOString() })

  await t.test('show an agent that works alone and keeps to its manifest', async (t) => {
    await settled()
    const page = await see('/quiet')
    t.match(page.text, /Traces 1 .*The agent has kept to its manifest\./)
    t.equal(page.document.querySelector('.topology'), null)
    await checkPage(t, page)
    t.equal((await see()).document.querySelector('.topology'), null)
  })

  const closed = { is_closed_world: true }
  const { manifest_id } = await register(
    [toolComponent('look', { q: { type: 'string' } }, ['q'])],
    closed,
  )
  const minutesAgo = (n: number) => new Date(Date.now() - n * 60_000).toISOString()
  const odd = await store([['look', {}]], {
    manifest_id,
    started_at: minutesAgo(1),
    spans: [{ span_type: 'handoff', name: 'handoff to billing' }],
  })
  await store([[HOSTILE, {}]], { manifest_id, started_at: minutesAgo(2) })
  const old = await store([['look', {}]], { manifest_id, started_at: minutesAgo(50 * 60) })
  await client.post('/traces', { agent_name: HOSTILE })
  await settled()

  await t.test('list agents with their versions, and draw who works for whom', async (t) => {
    const page = await see()
    const row = [...page.document.querySelectorAll('tbody tr')].map(({ textContent }) =>
      textContent.replace(/\s+/g, ' ').trim(),
    )
    t.ok(
      row.some((text) => /^support v1 3 0 \d+ (s|min) ago$/.test(text)),
      row.join(),
    )
    t.ok(row.some((text) => text.startsWith('billing subagent none 0')))
    t.ok(page.links.some((link) => link.startsWith(`/console/agents${pathOf(HOSTILE)}`)))
    t.equal(page.document.querySelectorAll('.topology .edge').length, 1)
    t.match(page.document.querySelector('.topology .edge title')?.textContent, 'support → billing')
    t.equal(page.document.querySelectorAll('script').length, 1, 'the own one')
    await checkPage(t, page)
    const rest = await see('?offset=3')
    t.equal(rest.document.querySelectorAll('[data-row]').length, 1)
    t.equal((await see('?offset=some')).status, 422)
  })

  await t.test(
    'show an agent, what it works with and what it did against its manifest',
    async (t) => {
      const page = await see('/support')
      t.match(page.text, /Traces 3 Not judged 0 Version v1 Versions 1/)
      t.match(page.text, /Works with .* Violations/)
      t.match(page.text, /1 subagent undeclared 2 tool args invalid 1 tool undeclared/)
      t.ok(page.text.includes(HOSTILE))
      const project = `project=${org.projectId}`
      t.ok(page.links.includes(`/console/traces/${odd}?${project}`))
      t.ok(page.links.includes(`/console/regressions?agent_name=support&${project}`))
      t.ok(page.links.includes(`/console/agents/billing?${project}`), 'in the drawing')
      await checkPage(t, page)
    },
  )

  await t.test('show violations of a time and a kind', async (t) => {
    const day = await see('/support?days=1')
    const link = `/console/traces/${old}?project=${org.projectId}`
    t.notOk(day.links.includes(link))
    t.equal(day.document.querySelectorAll('table [data-row]').length, 3)
    const week = await see('/support?days=7')
    t.equal(week.document.querySelectorAll('table [data-row]').length, 4)
    t.ok(week.links.includes(link))
    const kind = await see('/support?days=7&kind=tool_undeclared')
    t.equal(kind.document.querySelectorAll('table [data-row]').length, 1)
    t.match(kind.text, /1 tool undeclared ✕/)
    await checkPage(t, kind)
    t.equal((await see('/support?kind=odd')).status, 422)
  })

  await t.test('show any name as text', async (t) => {
    const page = await see(pathOf(HOSTILE))
    t.equal(page.document.querySelector('h1')?.textContent, HOSTILE)
    t.equal(page.document.querySelectorAll('script').length, 1)
    await checkPage(t, page)
  })

  await t.test('stay in the project whose agent is shown', async (t) => {
    await client.post('/traces', { agent_name: 'support', project: 'lab' })
    await client.post('/traces', { agent_name: 'elsewhere', project: 'lab' })
    await settled()
    const { body } = await client.get('/agents?project=lab')
    const [{ project_id: lab }] = body.agents
    const { links } = await see('/elsewhere')
    t.ok(links.includes(`/console/traces?agent_name=elsewhere&project=${lab}`))
    const drawn = (await see(`?project=${org.projectId}`)).document.querySelector('.topology a')
    t.match(drawn?.getAttribute('href'), `?project=${org.projectId}`)
  })

  await t.test('are the same for who may only read, and nothing for others', async (t) => {
    for (const path of ['', '/support']) {
      const page = await see(path, read)
      t.equal(page.status, 200)
      t.same(page.actions, [])
      await checkPage(t, page)
    }
    const other = await service.makeOrganization()
    t.equal((await see('/support', other.key)).status, 404)
    t.match((await see('', other.key)).text, /No agents yet/)
  })
})
