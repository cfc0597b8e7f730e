import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
} from '../../support/built-dataset.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey } from '../../support/service.ts'
import { hello } from '../../support/stored-traces.ts'
import { TRAINABLE } from '../../support/trainable-traces.ts'

const HOSTILE = '<script>alert(1)</script> "\' &amp; \u202Egnp.exe'

t.test('pages of datasets', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const { api, ...org } = await openOrganization([
    ...TRAINABLE,
    {
      trace_id: 'evil/"<b>',
      messages: hello(HOSTILE),
      spans: [{ id: '"><img src=x>', name: 's', span_type: 'llm' }],
      llm_calls: [
        {
          span_id: '"><img src=x>',
          rendered_input: [{ role: 'user', content: HOSTILE }],
          output: { role: 'assistant', content: HOSTILE },
        },
      ],
    },
  ])
  const key = { scope: 'global', permissions: 'read' } as const
  const read = (await makeTestKey(service.sql, org.orgId, key)).raw
  const see = (path: string, as = org.key) => visit(service, as, `/console/datasets${path}`)

  await t.test('say what to do where nothing is', async (t) => {
    const list = await see('')
    t.match(list.text, /No datasets yet .* curl .*\/api\/v1\/datasets/)
    t.ok(list.actions.includes('New dataset'))
    await checkPage(t, list)
    t.same((await see('', read)).actions, [])
  })

  const { body: dataset } = await api.post('/datasets', {
    name: HOSTILE,
    description: HOSTILE,
    dataset_type: 'sft',
    training_target_agent: 'agent',
  })

  await t.test('of a dataset without a version say how to build one', async (t) => {
    const page = await see(`/${dataset.id}`)
    t.match(page.text, /No version yet/)
    t.ok(page.document.querySelector(`form[data-send="POST /api/v1/datasets/${dataset.id}/build"]`))
    await checkPage(t, page)
    t.same((await see(`/${dataset.id}`, read)).actions, [])
  })

  const split = { train: 0.5, test: 0.5 }
  await buildVersion(api, dataset.id, { split })
  const second = await buildVersion(api, dataset.id, { split, filters: { min_eval_score: 0.95 } })
  const version = `/${dataset.id}/versions/2`

  await t.test('show what clients sent as text', async (t) => {
    const row = await api.get(`${pathOf(second)}/rows?limit=500`)
    const { ordinal } = row.body.rows.find(
      ({ provenance }: { provenance: { trace_id: string } }) => provenance.trace_id === 'evil/"<b>',
    )
    for (const path of ['', `/${dataset.id}`, version, `${version}?row=${ordinal}`]) {
      const page = await see(path)
      t.equal(page.status, 200)
      t.ok(page.text.includes('<script>alert(1)</script>'), path)
      t.equal(page.document.querySelectorAll('script').length, 1, 'but the own one')
      t.equal(page.document.querySelector('img[src=x]'), null)
      await checkPage(t, page)
    }
  })

  await t.test('show the way from traces to rows, and where each row comes from', async (t) => {
    const page = await see(version)
    t.match(page.text, /quality too low/)
    t.match(page.text, new RegExp(`${second.row_count} rows of the version`))
    t.ok(page.links.some((link) => link.startsWith('/console/traces/chat?project=')))
    const span = `#span-${encodeURIComponent('"><img src=x>')}`
    t.ok(page.links.some((link) => link.startsWith('/console/traces/') && link.endsWith(span)))
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
  })

  await t.test('have bars that lead to the rows of their length', async (t) => {
    const { lengths } = (await api.get(pathOf(second))).body
    const { links } = await see(version)
    for (const { from, to, rows } of lengths.messages) {
      const query = `min_messages=${from}&max_messages=${to}`
      t.ok(links.includes(`/console/datasets${version}?${query}#rows`), query)
      const page = await see(`${version}?${query}`)
      t.equal(page.document.querySelectorAll('.dataset-rows tbody tr').length, rows)
      t.equal(page.document.querySelectorAll('.lengths a[aria-current]').length, 1)
      await checkPage(t, page)
    }
    const none = await see(`${version}?min_tokens=9000000`)
    t.match(none.text, /No row here/)
    t.equal((await see(`${version}?min_tokens=few`)).status, 422)
  })

  await t.test('compare a version with the one before', async (t) => {
    const page = await see(`${version}?view=changes`)
    t.match(page.text, /From v1 to v2/)
    t.match(page.text, /no trace changed its split/)
    t.match(page.text, /filters\.min_eval_score null 0\.95/)
    await checkPage(t, page)
    t.notMatch((await see(`/${dataset.id}/versions/1`)).text, /Changes/)
  })

  await t.test('offer the files and the card', async (t) => {
    const page = await see(`${version}?view=files`)
    const at = `/api/v1/datasets${version}/export`
    t.ok(page.links.includes(at))
    for (const { format, split: name, shard } of second.files) {
      t.ok(page.links.includes(`${at}?format=${format}&split=${name}&shard=${shard}`))
    }
    await checkPage(t, page)
    const card = await see(`${version}?view=card`)
    t.match(card.text, /task_categories/)
    await checkPage(t, card)
  })

  await t.test('show pairs with the turn that was rejected, and labels', async (t) => {
    const { dataset_id } = await buildDataset(api, 'dpo')
    const pairs = await see(`/${dataset_id}/versions/1?row=0`)
    t.match(pairs.text, /assistant · trained .* assistant · rejected/)
    t.match(pairs.text, /against/)
    await checkPage(t, pairs)
    const kto = await buildDataset(api, 'kto')
    t.match((await see(`/${kto.dataset_id}/versions/1`)).text, /\bgood\b.*\bbad\b/)
  })

  await t.test('show rows of every format', async (t) => {
    const { dataset_id } = await buildDataset(api, 'sft', { options: { format: 'sharegpt' } })
    const page = await see(`/${dataset_id}/versions/1?row=0`)
    t.match(page.text, /system Look first\. .*human.*function_call · trained/)
    await checkPage(t, page)
  })

  await t.test('tell how far a build is, and why it ended otherwise', async (t) => {
    const { id } = (await api.post('/datasets', { name: 'built', dataset_type: 'sft' })).body
    const { body } = await api.post(`/datasets/${id}/build`, {}, { prefer: 'respond-async' })
    const panel = await visit(service, org.key, `/console/datasets/${id}/versions/1/events`)
    t.match(panel.headers['content-type'], 'text/event-stream')
    t.match(panel.markup, /event: change\ndata: ".*event: end/s)
    await service.sql`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where id = ${body.id}`
    await service.sql`
      update jobs set state = 'failed', error = ${JSON.stringify({ code: 'x', message: HOSTILE })}::text::jsonb
      where id = ${body.job_id}`
    const page = await see(`/${id}/versions/1`)
    t.match(page.text, /failed .*<script>alert\(1\)<\/script>/)
    await checkPage(t, page)
    t.match((await see(`/${id}`)).text, /v1 failed <script>/)
  })

  await t.test('tell that traces of a version are gone', async (t) => {
    t.equal((await api.delete('/traces/chat')).status, 204)
    const page = await see(version)
    t.match(page.text, /This version is stale 1 traces? of its rows/)
    await checkPage(t, page)
    t.match((await see(`/${dataset.id}`)).text, /stale/)
  })

  await t.test('offer nothing to who may only read, and nothing of others', async (t) => {
    const { actions } = await see(version)
    t.ok(actions.includes('Build again') && actions.includes('Push'))
    t.same((await see(version, read)).actions, [])
    const other = await service.makeOrganization()
    t.equal((await see(version, other.key)).status, 404)
  })
})
