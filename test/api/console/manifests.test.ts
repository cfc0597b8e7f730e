import t from 'tap'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('pages of manifests', async (t) => {
  const service = await openAgentService(t)
  const { org, register, propose, store, settled } = await makeAgent(service)
  const permissions = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, org.orgId, permissions)).raw
  const see = (path = '', as = org.key) => visit(service, as, `/console/manifests${path}`)

  await t.test('say what a manifest is where there is none', async (t) => {
    const page = await see()
    t.match(page.text, /No manifests yet .* curl .*\/api\/v1\/manifests/)
    await checkPage(t, page)
    const none = await see('?status=draft')
    t.match(none.text, /0 manifests .*No manifest matches/)
    await checkPage(t, none)
    t.equal((await see('?status=odd')).status, 422)
  })

  const prompt = (content: string) => ({
    component_type: 'prompt',
    component_name: 'answer',
    schema_json: { content },
  })
  const first = await register([
    prompt('Be brief.\nBe kind.'),
    toolComponent('search', { q: { type: 'string' } }),
    toolComponent('gone'),
    toolComponent('same'),
  ])
  await store([['gone', {}]], { manifest_id: first.manifest_id })
  await store([['same', {}]], { manifest_id: first.manifest_id })
  await settled()
  const second = await propose(
    [
      prompt('Be brief.\nBe exact.'),
      toolComponent('search', { q: { type: 'string' } }, ['q']),
      toolComponent('same'),
      toolComponent(HOSTILE, { [HOSTILE]: { type: 'string' } }),
    ],
    { version_label: HOSTILE },
  )
  const path = `/${second.manifest_id}`

  await t.test('show a version alone where none came before', async (t) => {
    const page = await see(`/${first.manifest_id}`)
    t.match(page.text, /State active Components 4 Its traces 2/)
    t.match(page.text, /prompt answer Be brief\. Be kind\./)
    t.same(page.actions, ['Check it'], 'it is active already')
    await checkPage(t, page)
  })

  await t.test('show a version beside the one before', async (t) => {
    const page = await see(path)
    t.match(page.text, /Against v1/)
    t.match(page.text, /\d changes, \d of them may break something/)
    const texts = [...page.document.querySelectorAll('.component h3')].map(({ textContent }) =>
      textContent.replace(/\s+/g, ' ').trim(),
    )
    t.same(texts, [
      'prompt answer changed',
      `tool ${HOSTILE} added`,
      'tool gone removed',
      'tool search changed',
      'tool same',
    ])
    t.match(page.text, /1 component is equal/)
    t.match(page.document.querySelector('.component del')?.textContent, 'kind')
    t.equal(page.document.querySelectorAll('script').length, 1, 'the own one')
    await checkPage(t, page)
    const same = await see(`${path}?against=${second.manifest_id}`)
    t.match(same.text, /Against v2 .*4 components are equal/)
    await checkPage(t, same)
    t.equal((await see(`${path}?against=${org.orgId}`)).status, 404)
  })

  await t.test('can be checked and activated by who may write', async (t) => {
    const page = await see(path)
    t.same(page.actions, ['Check it', 'Activate'])
    const sent = [...page.document.querySelectorAll('main [data-send]')].map((button) =>
      button.getAttribute('data-send'),
    )
    t.same(sent, ['POST /api/v1/regression-check', `POST /api/v1/manifests${path}/activate`])
    const readOnly = await see(path, read)
    t.same(readOnly.actions, [])
    await checkPage(t, readOnly)
  })

  await t.test('tell what became of traces of the version before', async (t) => {
    await service.client(org.key).post(`/manifests${path}/activate`)
    await settled()
    const page = await see(path)
    t.match(page.text, /What became of traces of the version before .* completed 1 0 1 0/)
    await checkPage(t, page)
  })

  await t.test('are listed by agent and state', async (t) => {
    const page = await see()
    t.match(page.text, /2 manifests .* support v2 <script>.* active .* support v1 superseded/)
    t.ok(page.links.includes(`/console/manifests${path}`))
    await checkPage(t, page)
    const some = await see('?agent_name=support&status=superseded')
    t.match(some.text, /1 manifest/)
    t.equal(some.document.querySelectorAll('[data-row]').length, 1)
    await checkPage(t, some)
    const kept = (await see('?project=default')).document.querySelector('.filters [name=project]')
    t.equal(kept?.getAttribute('value'), 'default')
    const other = await service.makeOrganization()
    t.equal((await see(path, other.key)).status, 404)
    t.match((await see('', other.key)).text, /No manifests yet/)
  })
})
