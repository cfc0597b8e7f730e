import t from 'tap'
import { hashSessionToken } from '../../../api/session-cookie.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { insertSession } from '../../../sql/access/sessions.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'
const NO_ID = '01a20f7c-3901-7a29-a38f-794e6f3c2716'

const service = await openService(t)
await service.startWorkers([judgeTracesHandler])

async function setup() {
  const org = await service.makeOrganization()
  const key = { scope: 'global', permissions: 'read' } as const
  const read = await makeTestKey(service.sql, org.orgId, key)
  const bound = { ...key, scope: 'project', project_id: org.projectId } as const
  return {
    ...org,
    client: service.client(org.key),
    read: read.raw,
    bound: (await makeTestKey(service.sql, org.orgId, bound)).raw,
    look: (path = '', as = org.key) => visit(service, as, `/console/organization${path}`),
  }
}

t.test('the page of usage', async (t) => {
  const { client, look, read, bound } = await setup()

  await t.test('shows what is used, against the limits of the plan', async (t) => {
    t.match((await look()).text, /Traces taken in 0 of 10,000,000 0 %/)
    await client.post('/traces', { agent_name: 'a' })
    await until(async () => /Traces taken in 1 of/.test((await look()).text))
    const page = await look()
    t.match(page.text, /Plan enterprise Traces are kept for ever/)
    t.match(page.text, /Limits of the plans .*enterprise yours Requests a minute of a key/)
    t.same(page.actions, [])
    await checkPage(t, page)
  })

  await t.test('is shown to every key, the contact for bills to administrators', async (t) => {
    for (const key of [read, bound]) {
      const page = await look('', key)
      t.match(page.text, /Used this month/)
      t.notMatch(page.text, /Billing contact/)
      await checkPage(t, page)
    }
  })
})

t.test('the page of keys', async (t) => {
  const { client, look, read, bound, orgId, keyId } = await setup()
  const made = (await client.post('/api-keys', { label: HOSTILE, scope: 'global' })).body
  const open = (token: string, key_id: string) =>
    service.sql.begin((tx: Transaction) =>
      insertSession(tx, {
        org_id: orgId,
        key_id,
        token_hash: hashSessionToken(token),
        expires_at: new Date(Date.now() + 3_600_000),
      }),
    )

  await t.test('lists them, and makes and revokes them', async (t) => {
    const page = await look('/keys')
    t.match(page.text, /4 keys\. A key is shown once/)
    t.ok(page.text.includes(HOSTILE))
    t.match(page.text, /project default/)
    t.equal(page.actions.filter((text) => text === 'Revoke').length, 4)
    t.ok(page.actions.includes('New key'))
    t.ok(page.links.includes(`/console/organization/keys?key=${made.id}`))
    t.notMatch(page.text, /Signed in|No browser/)
    await checkPage(t, page)
  })

  await t.test('shows the sessions of the key that is opened, which can be ended', async (t) => {
    const none = await look(`/keys?key=${made.id}`)
    t.match(none.text, /No browser is signed in by this key/)
    await checkPage(t, none)
    await open('one', keyId)
    await open('other', made.id)
    const page = await look(`/keys?key=${made.id}`)
    t.match(page.text, /Signed in \d+ s ago used never ends in (60 min|1 h) End/)
    t.equal(page.document.querySelectorAll('.sessions li').length, 1)
    const [end = ''] = [...page.document.querySelectorAll('.sessions [data-send]')].map((button) =>
      button.getAttribute('data-send'),
    )
    t.match(end, `DELETE /api/v1/api-keys/${made.id}/sessions/`)
    t.ok(page.links.includes('/console/organization/keys'), 'which closes it')
    await checkPage(t, page)
    t.equal((await client.delete(end?.split('/api/v1')[1] ?? '')).status, 204)
    t.match((await look(`/keys?key=${made.id}`)).text, /No browser is signed in/)
  })

  await t.test('tells which session is its own', async (t) => {
    const { payload } = await service.server.inject({
      url: `/console/organization/keys?key=${keyId}`,
      headers: { cookie: 'service_session=one' },
    })
    t.match(payload, /this one/)
    t.match(payload, /you will be signed out/)
  })

  await t.test('shows no buttons to a key that may only read', async (t) => {
    const page = await look(`/keys?key=${keyId}`, read)
    t.match(page.text, /Signed in/)
    t.same(page.actions, [])
    await checkPage(t, page)
    t.equal((await look('/keys', bound)).status, 403)
  })

  await t.test('opens no key that is gone', async (t) => {
    await client.delete(`/api-keys/${made.id}`)
    for (const key of [made.id, NO_ID]) {
      const page = await look(`/keys?key=${key}`)
      t.equal(page.status, 200)
      t.equal(page.document.querySelector('.opened'), null)
    }
  })

  await t.test('has pages', async (t) => {
    for (let i = 0; i < 50; i += 1) {
      await makeTestKey(service.sql, orgId, { scope: 'global', permissions: 'read' })
    }
    const page = await look('/keys')
    t.equal(page.document.querySelectorAll('tbody tr').length, 50)
    t.ok(page.links.includes('/console/organization/keys?offset=50'))
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    const last = await look(`/keys?offset=50&key=${keyId}`)
    t.match(last.text, /Signed in/)
    t.ok(last.links.includes('/console/organization/keys?offset=50'), 'which closes it')
    t.equal((await look('/keys?offset=x')).status, 422)
  })
})

t.test('the page of the decision policy', async (t) => {
  const { client, look, read, bound } = await setup()

  await t.test('shows what holds where nothing was set', async (t) => {
    const page = await look('/policy')
    t.match(page.text, /The default policy holds, since none was ever set/)
    t.match(page.text, /Before you save/)
    t.same(page.actions, [])
    await checkPage(t, page)
  })

  await t.test('tells what other settings would change, and saves them', async (t) => {
    await client.post('/traces', {
      trace_id: 'doubtful',
      agent_name: HOSTILE,
      llm_calls: [
        { rendered_input: [{ role: 'user', content: 'Hi' }], output: { content: 'Hello' } },
      ],
      scores: { judge: 0.75 },
    })
    await until(async () => (await client.get('/traces?verdict=keep')).body.total === 1)
    const strict = '/policy?preset=strict&keep_at=0.9&drop_at=0.8&preview=1'
    const page = await look(strict)
    t.match(page.text, /1 of 1 verdict would change/)
    t.ok(page.links.includes('/console/traces/doubtful'))
    t.same(page.actions, ['Save these settings'])
    t.ok(page.document.querySelector('select')?.textContent.includes(HOSTILE))
    await checkPage(t, page)
    t.same((await look(strict, read)).actions, [])
    const saved = page.document.querySelector('main [data-send]')?.getAttribute('data-body') ?? ''
    t.equal((await client.put('/decision-policy', JSON.parse(saved))).status, 200)
    const after = await look('/policy')
    t.match(after.text, /The project is decided on by version 1 \(strict\), set/)
    t.match(after.text, /Versions .* v1 strict 0\.9 0\.8/)
    await checkPage(t, after)
    t.match((await look(strict)).text, /These are the settings that hold/)
  })

  await t.test('is that of an agent where one is named', async (t) => {
    const page = await look(`/policy?agent_name=${encodeURIComponent(HOSTILE)}`)
    t.ok(page.text.includes(`${HOSTILE} follows the project until it has settings of its own`))
    await checkPage(t, page)
    t.equal((await look('/policy', bound)).status, 200)
    t.equal((await look('/policy?preset=strict&keep_at=2&preview=1')).status, 422)
  })
})

t.test('the page of redaction', async (t) => {
  const { client, look, read, bound } = await setup()
  const fieldsOf = (page: Awaited<ReturnType<typeof look>>) =>
    [...page.document.querySelectorAll('.patterns input')].map((field) =>
      field.getAttribute('value'),
    )

  await t.test('shows what is found anyway where nothing is set', async (t) => {
    const page = await look('/redaction')
    t.match(page.text, /Never set: the classes alone are taken out/)
    t.match(page.text, /email email addresses .* ssn_us .* only where it is named/)
    t.same(fieldsOf(page), ['', '', '', '', '', ''])
    t.match(page.document.querySelector('[data-send^=PUT] button')?.textContent, 'Save')
    await checkPage(t, page)
    const none = await look('/redaction', read)
    t.match(none.text, /No patterns of the project\. Left as it is No value\./)
    t.same(none.actions, [])
    await checkPage(t, none)
  })

  await t.test('shows what is set as fields, and to who may only read as text', async (t) => {
    const patterns = [{ name: HOSTILE, pattern: '<b>"x' }]
    const keep = [HOSTILE, 'a, b', ' c ']
    t.equal((await client.put('/redaction-settings', { patterns, keep })).status, 200)
    const page = await look('/redaction')
    t.same(fieldsOf(page).slice(0, 4), [HOSTILE, '<b>"x', '', ''])
    t.equal(page.document.querySelector('textarea')?.textContent, keep.join('\n'))
    t.match(page.text, /Set \d+ s ago/)
    await checkPage(t, page)
    for (const key of [read, bound]) {
      const shown = await look('/redaction', key)
      t.equal(shown.document.querySelector('main form'), null)
      t.equal(shown.document.querySelector('.kept')?.textContent, keep.join('\n'))
      t.ok(shown.text.includes(HOSTILE))
      await checkPage(t, shown)
    }
  })

  await t.test('leaves to the interface what no form can hold', async (t) => {
    const many = Array.from({ length: 1000 }, (_, i) => `${i} `.padEnd(256, 'x'))
    for (const keep of [many, ['two\nlines']]) {
      t.equal((await client.put('/redaction-settings', { keep })).status, 200)
      const page = await look('/redaction')
      t.equal(page.document.querySelector('main form'), null)
      t.match(page.text, /they are set by PUT \/api\/v1\/redaction-settings/)
      t.ok(page.markup.length < 80_000, `${page.markup.length}`)
      await checkPage(t, page)
    }
  })

  await t.test('is that of a project', async (t) => {
    await client.put('/redaction-settings', { keep: ['of two'], project: 'two' })
    const page = await look('/redaction?project=two')
    t.equal(page.document.querySelector('textarea')?.textContent, 'of two')
    const form = page.document.querySelector('[data-send^=PUT]')
    t.match(form?.getAttribute('data-body'), /"project":"two"/)
    t.equal(page.document.querySelector('option[selected]')?.textContent, 'two')
    t.equal((await look('/redaction?project=none')).status, 404)
  })
})
