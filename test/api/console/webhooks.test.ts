import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { finishAttempts, startAttempts } from '../../../sql/webhooks/delivery-attempts.ts'
import type { AttemptResult } from '../../../sql/webhooks/delivery-attempts.ts'
import { insertDelivery } from '../../../sql/webhooks/deliveries.ts'
import {
  setWebhookSecret,
  upsertNotificationSettings,
} from '../../../sql/webhooks/notifications.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('pages of webhooks', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const { sql } = service
  const look = (path = '') => visit(service, org.key, `/console/webhooks${path}`)

  /** A delivery with attempts that ended so, each but the last to be tried again. */
  async function deliver(results: readonly AttemptResult[], max_attempts = results.length) {
    const { orgId } = org
    const body = Buffer.from('{}')
    const id = await insertDelivery(sql, orgId, { event: 'manifest.changed', body, max_attempts })
    for (const [i, result] of results.entries()) {
      const number = i + 1
      const state =
        result.error === null ? 'delivered' : number < max_attempts ? 'retry_wait' : 'failed'
      await startAttempts(sql, [{ orgId, id }])
      await finishAttempts(sql, [{ orgId, id, number, state, result }])
    }
    return id
  }
  const refused = { duration_ms: 5, status_code: 500, error: 'http_500', response_excerpt: HOSTILE }
  const taken = { duration_ms: 84, status_code: 204, error: null, response_excerpt: '' }
  const away = { duration_ms: 9, status_code: null, error: 'dns_error', response_excerpt: null }

  await t.test('ask for an address where none is set', async (t) => {
    const page = await look()
    t.match(page.text, /No deliveries yet Give an address/)
    t.ok(page.actions.includes('Set the address'))
    t.match(page.document.querySelector('#choose-events')?.textContent, /those of later releases/)
    t.notOk(page.actions.includes('Send a test'))
    await checkPage(t, page)
    const none = await look('?status=failed')
    t.match(none.text, /No delivery matches/)
    await checkPage(t, none)
  })

  await t.test('show where events are sent, and say that they are not signed', async (t) => {
    const webhook_url = 'https://hooks.example.com/a"><b>'
    const events = ['manifest.changed'] as const
    await upsertNotificationSettings(sql, org.orgId, { webhook_url, events: [...events] })
    const page = await look()
    t.match(page.text, /Address https:\/\/hooks\.example\.com\/a"><b> Signed not signed/)
    t.match(page.text, /Events manifest\.changed Without a secret .* set-webhook-secret/)
    t.match(page.text, /Nothing has happened yet that you chose to be told of/)
    t.same(page.actions.slice(0, 3), ['Send a test', 'Choose events', 'Change the address'])
    const chosen = page.document.querySelectorAll('dialog [name=events][checked]')
    t.same(
      [...chosen].map((field) => field.getAttribute('value')),
      events,
    )
    await checkPage(t, page)
    await sql.begin((tx: Transaction) => setWebhookSecret(tx, org.orgId, Buffer.alloc(40)))
    t.match((await look()).text, /Signed with a secret/)
    t.notMatch((await look()).text, /Without a secret/)
  })

  await t.test('save the address without the events', async (t) => {
    const page = await look()
    const form = page.document.querySelector('#set-address form')
    t.equal(form?.getAttribute('data-send'), 'PATCH /api/v1/org/notifications')
    t.equal(form?.getAttribute('data-body'), '{"webhook_url":null}')
    t.equal(form?.querySelector('[name=events]'), null)
    t.notMatch(page.document.querySelector('#choose-events')?.textContent, /later releases/)
  })

  await t.test('show attempts with what the receiver answered', async (t) => {
    const id = await deliver([away, refused, taken])
    const list = await look()
    t.match(list.text, /1 delivery .* delivered manifest\.changed attempts 3 of 3/)
    t.ok(list.links.includes(`/console/webhooks/${id}`))
    await checkPage(t, list)
    const page = await look(`/${id}`)
    t.match(page.text, /State delivered Attempts 3 of 3/)
    t.match(page.text, /1 no response .* dns_error 2 500 .* http_500 /)
    t.match(page.text, /3 204 .* 84 ms An empty response/)
    t.ok(page.text.includes(HOSTILE))
    t.ok(page.text.includes(`X-Service-Event-Id: ${id}`))
    t.same(page.actions, ['Send again'])
    t.notOk(page.document.querySelector('live-region[src]'))
    await checkPage(t, page)
    t.equal((await look('/01a20f7c-3901-7a29-a38f-794e6f3c2716')).status, 404)
  })

  await t.test('follow a delivery that waits for its next attempt', async (t) => {
    const id = await deliver([refused], 3)
    const page = await look(`/${id}`)
    t.match(page.text, /State retry wait Attempts 1 of 3/)
    t.equal(
      page.document.querySelector('live-region')?.getAttribute('src'),
      `/console/webhooks/${id}/events`,
    )
    await checkPage(t, page)
  })

  await t.test('lead from a delivery that is sent again to the first one', async (t) => {
    const first = await deliver([away])
    const { status, body } = await client.post(`/org/webhook-deliveries/${first}/redeliver`)
    t.ok(status < 300)
    const page = await look(`/${body.id}`)
    t.ok(page.links.includes(`/console/webhooks/${first}`))
    t.match((await look('?status=pending')).text, /1 delivery .* manifest\.changed again/)
  })

  await t.test('are filtered by state, and read on by a cursor', async (t) => {
    for (let i = 0; i < 51; i += 1) await deliver([refused])
    const page = await look('?status=failed&event=manifest.changed')
    t.match(page.text, /52 deliveries/)
    t.notMatch(page.text, /delivered manifest/)
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    const older = page.links.find((link) => link.includes('cursor=')) ?? ''
    t.match(older, /event=manifest\.changed&status=failed|status=failed&event=manifest\.changed/)
    const last = await visit(service, org.key, older)
    t.equal(last.document.querySelectorAll('[data-row]').length, 2)
    t.equal((await look('?status=odd')).status, 422)
  })

  await t.test('are for who administers the whole organization', async (t) => {
    for (const permissions of ['read', 'write'] as const) {
      const { raw } = await makeTestKey(sql, org.orgId, { scope: 'global', permissions })
      const page = await visit(service, raw, '/console/webhooks')
      t.equal(page.status, 403)
      t.match(page.text, /Your key may not see this .* admin permission/)
      t.same(page.actions, [])
      await checkPage(t, page)
    }
  })
})
