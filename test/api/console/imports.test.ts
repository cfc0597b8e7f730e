import t from 'tap'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { checkPage, visit } from '../../support/console.ts'
import { openImports } from '../../support/imports.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script>'

t.test('pages of imports', async (t) => {
  const service = await openService(t)
  const { submit } = openImports(t, service)
  const org = await service.makeOrganization()
  const key = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, org.orgId, key)).raw
  const see = (path: string, as = org.key) => visit(service, as, `/console/imports${path}`)

  await t.test('say which files are understood where none was imported', async (t) => {
    const page = await see('')
    const form = page.document.querySelector('form[data-upload="/api/v1/import/jsonl"]')
    t.equal(form?.getAttribute('data-then'), '/console/imports/{id}')
    t.ok(page.document.querySelector('details[open]'))
    t.match(page.text, /langfuse .* curl .*\/api\/v1\/import\/jsonl/)
    await checkPage(t, page)
    const readOnly = await see('', read)
    t.match(readOnly.text, /No imports yet/)
    t.equal(readOnly.document.querySelector('main form'), null)
    await checkPage(t, readOnly)
  })

  const lines = [
    { trace_id: 'one', agent_name: 'a', scores: [{ name: 's', score: 7 }] },
    { [HOSTILE]: 1 },
    { agent_name: 'a', spans: 7 },
    { agent_name: 'a', spans: 8 },
  ]
  const file = lines.map((line) => JSON.stringify(line)).join('\n')
  const waiting = await submit(file, '', org)

  await t.test('of an import that waits are live, and cancel it', async (t) => {
    const path = `/${waiting.importId}`
    const page = await see(path)
    t.match(page.text, /queued/)
    const region = page.document.querySelector('live-region')
    t.equal(region?.getAttribute('src'), `/console/imports${path}/events`)
    t.same(page.actions, ['Cancel'])
    t.same((await see(path, read)).actions, [])
    await checkPage(t, page)
    await service.client(org.key).post(`/import${path}/cancel`)
    const canceled = await see(path)
    t.match(canceled.text, /canceled/)
    t.same(canceled.actions, [])
    t.equal(canceled.document.querySelector('live-region')?.getAttribute('src'), null)
  })

  await service.startWorkers([importTracesHandler])
  const done = await submit(file, '', org)
  await done.ended()
  const path = `/${done.importId}`

  await t.test('count what came, and list errors by line and by reason', async (t) => {
    const page = await see(path)
    t.match(page.text, /1 imported .* 3 records with an error/)
    t.match(page.text, /invalid record 2 unknown format 1/)
    t.ok(page.text.includes(HOSTILE), 'as text')
    t.equal(page.document.querySelectorAll('script').length, 1)
    t.ok(page.links.includes(`/api/v1/import${path}/errors?format=jsonl`))
    await checkPage(t, page)
    t.ok(page.links.includes(`/console/imports${path}?code=invalid_record`))
    const some = await see(`${path}?code=invalid_record`)
    t.equal(some.document.querySelectorAll('table tbody tr').length, 2)
    t.match(some.text, /unknown format 1/, 'still counted')
    await checkPage(t, some)
  })

  await t.test('send the panel until the import ends', async (t) => {
    const { headers, markup } = await see(`${path}/events`)
    t.match(headers['content-type'], 'text/event-stream')
    t.match(markup, /^event: change\ndata: ".*imported.*event: end/s)
  })

  await t.test('list imports with what each brought', async (t) => {
    const page = await see('')
    t.match(page.text, /succeeded 1 imported 0 known already 3 errors/)
    t.ok(page.links.includes(`/console/imports${path}`))
    await checkPage(t, page)
    t.equal(page.document.querySelector('form [name=project]'), null)
    const ofProject = await see('?project=default')
    const field = ofProject.document.querySelector('form[data-upload] [name=project]')
    t.equal(field?.getAttribute('value'), 'default')
    const other = await service.makeOrganization()
    t.equal((await see(path, other.key)).status, 404)
  })
})
