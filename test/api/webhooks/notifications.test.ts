import t from 'tap'
import { insertDelivery } from '../../../sql/webhooks/deliveries.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('notification settings', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const patch = (body: object) => client.patch('/org/notifications', body)

  t.test('report a default of five events until a selection is made', async (t) => {
    const { body } = await client.get('/org/notifications')
    t.match(body, { webhook_url: null, events_configured: false, signing_secret_configured: false })
    t.same(body.events, [
      'manifest.changed',
      'usage.warning',
      'usage.limit_reached',
      'payment.failed',
      'payment.confirmed',
    ])
    t.equal(body.all_events.length, 9)
  })

  t.test('change only by the members that are sent', async (t) => {
    t.match((await patch({ webhook_url: 'https://8.8.8.8/hook' })).body, {
      webhook_url: 'https://8.8.8.8/hook',
      events_configured: false,
    })
    t.match((await patch({ events: ['payment.failed'] })).body, {
      webhook_url: 'https://8.8.8.8/hook',
      events: ['payment.failed'],
      events_configured: true,
    })
    t.match((await patch({ events: [] })).body, { events: [], events_configured: true })
    t.match((await patch({ webhook_url: null })).body, { webhook_url: null, events: [] })
    t.match((await patch({})).body, { webhook_url: null, events: [] })
  })

  t.test('refuse what is no https URL, an unknown event, and a private address', async (t) => {
    for (const webhook_url of ['http://example.com', 'https://', 5, 'https://u:p@example.com/']) {
      t.match(await patch({ webhook_url }), {
        status: 422,
        body: { details: { errors: [{ field: 'body.webhook_url' }] } },
      })
    }
    t.equal((await patch({ events: ['nothing.happened'] })).status, 422)
    const inside = ['127.0.0.1', '[::1]', '2130706433', '10.1.2.3', 'localhost', '169.254.169.254']
    for (const host of inside)
      t.equal((await patch({ webhook_url: `https://${host}/` })).status, 400, host)
  })

  t.test('are for global admin keys', async (t) => {
    const writer = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'write',
    })
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'workspace',
      permissions: 'admin',
      workspace_id: org.workspaceId,
    })
    for (const { raw } of [writer, scoped]) {
      t.equal((await service.client(raw).get('/org/notifications')).status, 403)
      t.equal((await service.client(raw).patch('/org/notifications', {})).status, 403)
    }
  })
})

t.test('deliveries of one transaction are on one page or another', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const { get } = service.client(org.key)
  await service.sql.begin(async (tx) => {
    const delivery = { event: 'usage.warning', body: Buffer.from('{}'), max_attempts: 1 }
    for (let i = 0; i < 3; i++) await insertDelivery(tx, org.orgId, delivery)
  })
  const found = new Set<string>()
  for (let cursor = ''; cursor !== 'null' && found.size < 4;) {
    const { body } = await get(`/org/webhook-deliveries?limit=1${cursor && `&cursor=${cursor}`}`)
    for (const { id } of body.deliveries) found.add(id)
    cursor = String(body.next_cursor)
  }
  t.equal(found.size, 3)
})
