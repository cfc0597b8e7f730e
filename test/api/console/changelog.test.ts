import t from 'tap'
import { resourcePage } from '../../../api/console/changelog/resource-page.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('the page of the changelog', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const look = (path = '', key = org.key) => visit(service, key, `/console/changelog${path}`)

  let example = {}

  await t.test('says what is told where nothing has happened', async (t) => {
    const page = await look()
    t.match(page.text, /Nothing has happened yet .* curl .*\/api\/v1\/manifests/)
    const command = page.document.querySelector('.command pre')?.textContent ?? ''
    example = JSON.parse(/-d '(.*)'/.exec(command)?.[1] ?? '') as object
    await checkPage(t, page)
    const none = await look('?types=training')
    t.match(none.text, /Nothing of this type yet/)
    t.ok(none.links.includes('/console/changelog'))
    await checkPage(t, none)
  })

  const { status, body: made } = await client.post('/manifests', {
    ...example,
    agent_name: HOSTILE,
  })
  t.equal(status, 201, 'the line that the empty page gives works')
  await client.post('/api-keys', { label: HOSTILE, scope: 'global' })

  await t.test('tells by day what happened, and leads there', async (t) => {
    const page = await look()
    t.equal(page.document.querySelectorAll('.changelog li').length, 2)
    t.match(page.document.querySelector('main h2')?.textContent, /^\w+day, \d+ \w+ \d{4}$/)
    t.match(page.text, /audit API key .* created .* version .* v1 registered/)
    t.ok(page.text.includes(HOSTILE))
    t.ok(page.links.includes(`/console/manifests/${made.manifest_id}`))
    t.ok(page.links.includes('/console/organization/keys'))
    t.same(page.actions, [])
    await checkPage(t, page)
    const { events } = (await client.get('/changelog')).body
    t.match(events, [
      { type: 'audit', project_id: null },
      { type: 'manifest', project_id: org.projectId },
    ])
  })

  await t.test('tells one type alone', async (t) => {
    const page = await look('?types=audit')
    t.equal(page.document.querySelectorAll('.changelog li').length, 1)
    t.equal(page.document.querySelector('main [aria-current]')?.textContent, 'audit')
    t.equal((await look('?types=odd')).status, 422)
  })

  await t.test('tells who is bound to a project nothing of the organization', async (t) => {
    const bound = { scope: 'project', project_id: org.projectId, permissions: 'read' } as const
    const { raw } = await makeTestKey(service.sql, org.orgId, bound)
    const page = await look('', raw)
    t.match(page.text, /v1 registered/)
    t.notMatch(page.text, /API key .* created/)
    await checkPage(t, page)
  })

  await t.test('is read on by a cursor', async (t) => {
    for (let i = 0; i < 50; i += 1) await client.post('/workspaces', { name: `w${i}` })
    const page = await look()
    t.equal(page.document.querySelectorAll('.changelog li').length, 50)
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    const older = page.links.find((link) => link.includes('cursor=')) ?? ''
    const last = await visit(service, org.key, older)
    t.equal(last.document.querySelectorAll('.changelog li').length, 2)
    t.match(last.text, /v1 registered .* Newest$/)
    await checkPage(t, last)
  })
})

t.test('what an event is about has a page', async (t) => {
  const of = (type: string, data = {}, agent_name: string | null = null) =>
    resourcePage({ project_id: 'p', agent_name, resource: { type, id: 'x' }, data })
  t.equal(of('manifest'), '/console/manifests/x')
  t.equal(of('regression_check'), '/console/checks/x')
  t.equal(of('regression_finding', {}, 'a b'), '/console/regressions?agent_name=a+b&project=p')
  t.equal(of('regression_finding'), undefined)
  t.equal(of('dataset_version', { dataset_id: 'd' }), '/console/datasets/d/versions/x')
  t.equal(of('dataset_version'), undefined)
  t.equal(of('import'), '/console/imports/x')
  t.equal(of('api_key'), '/console/organization/keys')
  t.equal(of('webhook_secret'), '/console/webhooks')
  t.equal(of('workspace'), undefined)
})
