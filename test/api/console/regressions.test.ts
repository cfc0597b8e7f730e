import t from 'tap'
import { bisectRegressionHandler } from '../../../workers/regression/bisect-regression.ts'
import { checkPage, visit } from '../../support/console.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const PATH = '/console/regressions'
const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('the page of regressions', async (t) => {
  const service = await openService(t)
  await service.startWorkers([bisectRegressionHandler])
  const { client, key, orgId, register, traces } = await registeredAgent(service)
  const permissions = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, orgId, permissions)).raw
  const see = (query = '', as = key) => visit(service, as, `${PATH}${query}`)
  const version = async (n: number, quality: number, name: string) => {
    const id = await register([{ component_type: 'tool', component_name: name }])
    const around = (i: number) => quality + (i % 2 ? 0.05 : -0.05)
    return { id, ids: await traces(id, n, { tool: 'search', quality: around }) }
  }

  await t.test('says how an agent becomes known where there is none', async (t) => {
    const page = await see()
    t.match(page.text, /No agents yet .* curl .*\/api\/v1\/manifests/)
    t.same(page.actions, [])
    await checkPage(t, page)
  })

  const v1 = await version(90, 0.9, 'search')

  await t.test('says how versions are compared before a first look', async (t) => {
    const page = await see()
    t.match(page.text, /No versions to compare .* curl .*\/api\/v1\/agents\/agent\/bisect/)
    t.same(page.actions, ['Look again'])
    await checkPage(t, page)
  })

  await t.test('is calm where no version is worse', async (t) => {
    await version(60, 0.9, 'other')
    await client.post('/agents/agent/bisect')
    const page = await see()
    t.match(page.text, /No version is worse than the one before by more than chance explains/)
    t.match(page.text, /A drop of 0\.\d\d or more from v1 to v2 would have been seen/)
    t.equal(page.document.querySelector('.finding'), null)
    await checkPage(t, page)
  })

  const v3 = await version(60, 0.6, HOSTILE)
  const { findings } = (await client.post('/agents/agent/bisect')).body
  const [{ id, trace_sample_ids: samples }] = findings

  await t.test('shows what became worse, since when, and what that version changed', async (t) => {
    const page = await see('?agent_name=agent')
    t.match(page.text, /v3 is 33 % worse than v2 open The mean changed by -0\.\d+/)
    t.match(page.text, /With 90 % probability it came with v3/)
    t.match(page.text, /What v3 changed .*<script>alert\(1\)<\/script>/)
    t.equal(page.document.querySelectorAll('script').length, 1, 'but the own one')
    const suspects = page.document.querySelectorAll('.version-chart .suspects')
    t.equal(suspects.length, 1)
    t.match(page.text, /Worse from here/)
    for (const trace of samples) {
      const start = `/console/traces/${trace}?project=`
      t.ok(page.links.some((link) => link.startsWith(start)))
    }
    t.ok(samples.length > 0)
    for (const made of [v1, v3]) t.ok(page.links.includes(`/console/manifests/${made.id}`))
    t.match(
      page.document.querySelector('section[aria-labelledby=versions] tbody tr')?.textContent,
      'v3',
    )
    t.match(page.text, /A change of the prompt alone makes no version/)
    await checkPage(t, page)
  })

  await t.test('shows the metric that is asked for', async (t) => {
    const page = await see('?metric=reward')
    t.match(page.text, /No versions to compare/)
    const field = page.document.querySelector('input[name=metric]')
    t.equal(field?.getAttribute('value'), 'reward')
    await checkPage(t, page)
    await client.post('/agents/agent/bisect', { metric: 'reward' })
    t.match((await see('?metric=reward')).text, /v3 is 33 % worse/)
  })

  await t.test('has no buttons for who may only read, and nothing of others', async (t) => {
    t.same((await see()).actions, ['Look again', 'Mark as resolved'])
    const page = await see('', read)
    t.same(page.actions, [])
    t.match(page.text, /v3 is 33 % worse/)
    await checkPage(t, page)
    const other = await service.makeOrganization()
    t.match((await see('', other.key)).text, /No agents yet/)
    t.equal((await see('?agent_name=agent', other.key)).status, 404)
  })

  await t.test('tells who resolved a finding, and why', async (t) => {
    const button = (await see()).document.querySelector('.finding [data-send]')
    const path = `/agents/agent/bisect/findings/${id}/resolve`
    t.equal(button?.getAttribute('data-send'), `POST /api/v1${path}`)
    await client.post(path, { note: HOSTILE })
    const page = await see()
    t.match(page.text, /resolved .* Resolved .*: manual\. <script>alert/)
    t.same(page.actions, ['Look again'])
    t.equal(page.document.querySelector('.suspects'), null, 'no open one')
    await checkPage(t, page)
  })
})
