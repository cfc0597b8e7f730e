import t from 'tap'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('pages of traces', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })

  await t.test('without a key lead to sign-in, and back', async (t) => {
    const { status, headers } = await visit(service, undefined, '/console/traces?q=a%26b')
    t.equal(status, 303)
    t.equal(headers['location'], '/console/sign-in?next=%2Fconsole%2Ftraces%3Fq%3Da%2526b')
  })

  await t.test('say what to do where nothing is', async (t) => {
    const page = await visit(service, org.key, '/console/traces')
    t.equal(page.status, 200)
    t.match(page.text, /No traces yet .* curl .*\/api\/v1\/traces/)
    await checkPage(t, page)
  })

  const hostile = '<script>alert(1)</script> "\' &amp; \u202Egnp.exe'
  await client.post('/traces', {
    trace_id: 'evil/"<b>',
    agent_name: hostile,
    user_input_preview: hostile,
    error_message: hostile,
    status: 'error',
    tags: [hostile],
    spans: [
      { id: '"><img src=x>', name: hostile, span_type: 'tool', attributes: { [hostile]: hostile } },
    ],
    llm_calls: [
      { rendered_input: [{ role: hostile, content: hostile }], output: { content: hostile } },
    ],
    scores: [{ name: hostile, score: 0.5, reason: hostile, source: 'llm_judge' }],
  })

  await t.test('show what clients sent as text', async (t) => {
    for (const path of ['/console/traces', '/console/traces/evil%2F%22%3Cb%3E']) {
      const page = await visit(service, org.key, path)
      t.equal(page.status, 200)
      t.ok(page.text.includes('<script>alert(1)</script>'))
      t.equal(page.document.querySelectorAll('script').length, 1, 'but the own one')
      t.equal(page.document.querySelector('img[src=x], main b b'), null)
      await checkPage(t, page)
    }
  })

  await t.test('have no buttons for who may only read', async (t) => {
    const path = '/console/traces/evil%2F%22%3Cb%3E'
    t.same((await visit(service, read.raw, path)).actions, [])
    const { actions } = await visit(service, org.key, path)
    t.ok(actions.includes('Annotate'))
  })

  await t.test('tell an error with its request', async (t) => {
    const page = await visit(service, org.key, '/console/traces/none')
    t.equal(page.status, 404)
    t.match(page.text, /Trace not found Request [\w-]+ · not_found/)
    await checkPage(t, page)
    const wrong = await visit(service, org.key, '/console/traces?verdict=odd')
    t.equal(wrong.status, 422)
    t.match(wrong.text, /verdict/)
  })

  await t.test('cut what is long, and show it whole on demand', async (t) => {
    const long = 'word'.repeat(250_000)
    await client.post('/traces', {
      trace_id: 'long',
      agent_name: 'a',
      spans: [{ id: 's', name: 'step', span_type: 'llm' }],
      llm_calls: [{ span_id: 's', rendered_input: [{ role: 'user', content: long }], output: {} }],
    })
    const page = await visit(service, org.key, '/console/traces/long')
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    const whole = page.links.find((link) => link.includes('whole=s'))
    t.equal(whole, '/console/traces/long?whole=s#span-s')
    const { markup } = await visit(service, org.key, '/console/traces/long?whole=s')
    t.ok(markup.includes('word'.repeat(1000)))
  })
})
