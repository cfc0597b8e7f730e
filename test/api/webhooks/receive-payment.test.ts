import t from 'tap'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import { ANONYMOUS_RATE } from '../../../jobs/rules/org/plan.ts'
import { PATIENCE } from '../../../api/listener.ts'
import { createApi } from '../../../api/server.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const SECRET = 'whsec_test'
const { webhooks } = new Stripe('sk_test_x')
const seconds = () => Math.floor(Date.now() / 1000)

t.test('payment webhooks', async (t) => {
  const service = await openService(t, { env: { PAYMENT_WEBHOOK_SECRET: `old,${SECRET}` } })

  /** Sends an event, and as the processor does again while the service is busy. */
  async function send(
    event: object,
    path = '/webhooks/stripe',
    sign: { secret?: string; timestamp?: number } = {},
  ) {
    const payload = JSON.stringify(event)
    const response = await until(async () => {
      const header = webhooks.generateTestHeaderString({
        payload,
        secret: SECRET,
        timestamp: seconds(),
        ...sign,
      })
      const answer = await service.server.inject({
        method: 'POST',
        url: `/api/v1${path}`,
        headers: { 'content-type': 'application/json', 'stripe-signature': header },
        payload,
      })
      return answer.statusCode !== 503 && answer
    })
    return { status: response.statusCode, body: JSON.parse(response.payload) as object }
  }
  const makeEvent = (type: string, object: object, more: object = {}) => ({
    id: `evt_${randomUUID()}`,
    type,
    created: seconds(),
    livemode: false,
    data: { object },
    ...more,
  })
  async function makePayer() {
    const org = await service.makeOrganization('pro')
    const client = service.client(org.key)
    await service.sql`
      insert into notification_settings (org_id, webhook_url) values (${org.orgId}, 'https://example.com/')`
    const events = async () =>
      (await client.get('/org/webhook-deliveries')).body.deliveries.map(
        ({ event }: { event: string }) => event,
      )
    const invoice = (more: object = {}) => ({
      id: `in_${randomUUID()}`,
      customer: `cus_${org.orgId}`,
      metadata: { org_id: org.orgId },
      amount_due: 4200,
      amount_paid: 4200,
      currency: 'EUR',
      ...more,
    })
    return { ...org, events, invoice, billing: async () => (await client.get('/billing')).body }
  }
  const ignoredWhy = async (id: string) => {
    const [row] = await service.sql<{ ignored: string | null }[]>`
      select ignored from payment_events where id = ${id}`
    return row?.ignored
  }

  t.test('a failed payment starts a grace period and tells the organization once', async (t) => {
    const payer = await makePayer()
    const event = makeEvent('invoice.payment_failed', payer.invoice())
    t.match(await send(event), { status: 200, body: { received: true, duplicate: false } })
    t.match(await send(event, '/billing/webhook'), { status: 200, body: { duplicate: true } })
    t.same(await payer.events(), ['payment.failed'])
    const { grace_period_ends, degraded } = await payer.billing()
    const days = (new Date(grace_period_ends).getTime() - Date.now()) / 86_400_000
    t.ok(days > 6.9 && days <= 7)
    t.equal(degraded, false)
    const [row] = await service.sql<{ body: Buffer }[]>`
      select body from deliveries where org_id = ${payer.orgId}`
    t.match(JSON.parse(String(row?.body)), {
      event: 'payment.failed',
      data: { amount: 4200, currency: 'eur', grace_period_ends, payment_invoice_id: /^in_/ },
    })
  })

  t.test('the same event at once counts once', async (t) => {
    const payer = await makePayer()
    const event = makeEvent('invoice.payment_failed', payer.invoice())
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(event)))
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    t.equal(answers.filter(({ body }) => !(body as { duplicate: boolean }).duplicate).length, 1)
    t.same(await payer.events(), ['payment.failed'])
  })

  t.test('a confirmed payment ends it, and two kinds of confirmation confirm once', async (t) => {
    const payer = await makePayer()
    const invoice = payer.invoice()
    await send(makeEvent('invoice.payment_failed', invoice))
    await send(makeEvent('invoice.paid', invoice))
    await send(makeEvent('invoice.payment_succeeded', invoice))
    t.same(await payer.events(), ['payment.confirmed', 'payment.failed'])
    t.match(await payer.billing(), { grace_period_ends: null })
  })

  t.test(
    'a second confirmation that comes late ends the grace period of no other invoice',
    async (t) => {
      const payer = await makePayer()
      const invoice = payer.invoice()
      await send(makeEvent('invoice.paid', invoice))
      await send(makeEvent('invoice.payment_failed', payer.invoice()))
      await send(makeEvent('invoice.payment_succeeded', invoice))
      t.match(await payer.billing(), { grace_period_ends: String })
    },
  )

  t.test('an older event that comes late changes nothing', async (t) => {
    const payer = await makePayer()
    const invoice = payer.invoice()
    await send(makeEvent('invoice.paid', invoice))
    const late = makeEvent('invoice.payment_failed', invoice, { created: seconds() - 60 })
    t.match(await send(late), { status: 200 })
    t.equal(await ignoredWhy(late.id), 'superseded')
    t.match(await payer.billing(), { grace_period_ends: null })
    const tied = makeEvent('invoice.payment_failed', invoice)
    await service.sql`update payment_objects set created = ${tied.created} where id = ${invoice.id}`
    await send(tied)
    t.equal(await ignoredWhy(tied.id), 'superseded', 'at a tie the final state wins')
  })

  t.test('a subscription sets the plan, and its end sets the free one', async (t) => {
    const payer = await makePayer()
    const subscription = {
      id: `sub_${randomUUID()}`,
      metadata: { org_id: payer.orgId },
      customer: { id: `cus_${payer.orgId}` },
      status: 'active',
      items: { data: [{ price: { lookup_key: 'enterprise' } }] },
    }
    await send(makeEvent('customer.subscription.created', subscription))
    t.match(await payer.billing(), { plan: 'enterprise' })
    const metadata = { org_id: payer.orgId, plan: 'core' }
    const unpaid = { ...subscription, status: 'unpaid', metadata }
    await send(makeEvent('customer.subscription.updated', unpaid))
    t.match(await payer.billing(), { plan: 'enterprise' })
    const { metadata: _, ...bound } = subscription
    await send(makeEvent('customer.subscription.deleted', bound))
    t.match(await payer.billing(), { plan: 'free' }, 'by the customer it was bound to')
  })

  const makeSubscription = (customer: string, plan: string, made = seconds()) => ({
    id: `sub_${randomUUID()}`,
    object: 'subscription',
    created: made,
    customer,
    metadata: {},
    status: 'active',
    items: { data: [{ price: { lookup_key: plan } }] },
  })
  const makeCheckout = (orgId: string, customer: string | null, subscription: string | null) => ({
    id: `cs_test_${randomUUID()}`,
    object: 'checkout.session',
    client_reference_id: orgId,
    customer,
    subscription,
    metadata: {},
    mode: subscription === null ? 'payment' : 'subscription',
    status: 'complete',
  })

  t.test('a checkout binds its customer, whose events of before are applied', async (t) => {
    const payer = await makePayer()
    const customer = `cus_${randomUUID()}`
    const subscription = makeSubscription(customer, 'enterprise')
    const incomplete = makeEvent('customer.subscription.created', {
      ...subscription,
      status: 'incomplete',
    })
    const active = makeEvent('customer.subscription.updated', subscription)
    const paid = makeEvent('invoice.paid', payer.invoice({ customer, metadata: {} }))
    const before = [incomplete, active, paid]
    for (const event of before) {
      await send(event)
      t.equal(await ignoredWhy(event.id), 'no_organization')
    }
    const checkout = makeCheckout(payer.orgId, customer, subscription.id)
    await send(makeEvent('checkout.session.completed', checkout))
    for (const event of before) t.equal(await ignoredWhy(event.id), null)
    t.match(await payer.billing(), { plan: 'enterprise' })
    t.same(await payer.events(), ['payment.confirmed'])
    const failed = payer.invoice({ customer, metadata: {} })
    await send(makeEvent('invoice.payment_failed', failed))
    t.same(await payer.events(), ['payment.failed', 'payment.confirmed'])
  })

  t.test('a checkout and what was bought in it may come at once', async (t) => {
    const payers = await Promise.all(Array.from({ length: 8 }, makePayer))
    await Promise.all(
      payers.flatMap(({ orgId }) => {
        const customer = `cus_${randomUUID()}`
        const subscription = makeSubscription(customer, 'enterprise')
        return [
          send(makeEvent('customer.subscription.created', subscription)),
          send(
            makeEvent('checkout.session.completed', makeCheckout(orgId, customer, subscription.id)),
          ),
        ]
      }),
    )
    for (const { billing } of payers) t.match(await billing(), { plan: 'enterprise' })
  })

  t.test('a checkout changes nothing else, and takes no customer from anybody', async (t) => {
    const [one, other] = [await makePayer(), await makePayer()]
    const [customer, second] = [`cus_${randomUUID()}`, `cus_${randomUUID()}`]
    const complete = (orgId: string, of: string | null) =>
      send(makeEvent('checkout.session.completed', makeCheckout(orgId, of, null)))
    t.match(await complete(one.orgId, null), { status: 200 })
    await complete(one.orgId, customer)
    await complete(other.orgId, customer)
    await complete(one.orgId, second)
    const created = (of: string) =>
      send(makeEvent('customer.subscription.created', makeSubscription(of, 'enterprise')))
    await created(second)
    t.match(await one.billing(), { plan: 'pro', grace_period_ends: null })
    await created(customer)
    t.match(await one.billing(), { plan: 'enterprise' })
    t.match(await other.billing(), { plan: 'pro' })
  })

  t.test('of two subscriptions the newer one gives the plan', async (t) => {
    const payer = await makePayer()
    const customer = `cus_${randomUUID()}`
    await send(makeEvent('checkout.session.completed', makeCheckout(payer.orgId, customer, null)))
    const old = makeSubscription(customer, 'core', seconds() - 1000)
    const upgrade = makeSubscription(customer, 'enterprise')
    const at = (n: number) => ({ created: seconds() + n })
    const plan = async () => (await payer.billing()).plan
    await send(makeEvent('customer.subscription.created', old, at(0)))
    t.equal(await plan(), 'core')
    const incomplete = { ...upgrade, status: 'incomplete' }
    await send(makeEvent('customer.subscription.created', incomplete, at(1)))
    t.equal(await plan(), 'core')
    await send(makeEvent('customer.subscription.updated', upgrade, at(2)))
    t.equal(await plan(), 'enterprise')
    await send(makeEvent('customer.subscription.updated', old, at(3)))
    t.equal(await plan(), 'enterprise', 'the old one is still active')
    await send(makeEvent('customer.subscription.deleted', old, at(4)))
    t.equal(await plan(), 'enterprise')
    await send(makeEvent('customer.subscription.deleted', upgrade, at(5)))
    t.equal(await plan(), 'free')
  })

  t.test('when the newest of two subscriptions ends, the other one gives the plan', async (t) => {
    const payer = await makePayer()
    const customer = `cus_${randomUUID()}`
    await send(makeEvent('checkout.session.completed', makeCheckout(payer.orgId, customer, null)))
    const old = makeSubscription(customer, 'core', seconds() - 1000)
    const upgrade = makeSubscription(customer, 'enterprise')
    await Promise.all(
      [old, upgrade].map((each) => send(makeEvent('customer.subscription.created', each))),
    )
    t.match(await payer.billing(), { plan: 'enterprise' })
    await send(makeEvent('customer.subscription.deleted', upgrade))
    t.match(await payer.billing(), { plan: 'core' })
    await send(makeEvent('customer.subscription.deleted', old))
    t.match(await payer.billing(), { plan: 'free' })
  })

  t.test('what does not concern us is stored and acknowledged', async (t) => {
    const payer = await makePayer()
    const live = makeEvent('invoice.payment_failed', payer.invoice(), { livemode: true })
    const other = makeEvent('charge.refunded', { id: 'ch_1' })
    const nobody = makeEvent('invoice.paid', payer.invoice({ metadata: {}, customer: 'cus_none' }))
    for (const event of [live, other, nobody]) t.match(await send(event), { status: 200 })
    t.equal(await ignoredWhy(live.id), 'livemode')
    t.equal(await ignoredWhy(other.id), 'not_handled')
    t.equal(await ignoredWhy(nobody.id), 'no_organization')
    t.same(await payer.events(), [])
  })

  t.test('a handler that fails releases its claim', async (t) => {
    const payer = await makePayer()
    const event = makeEvent('invoice.payment_failed', payer.invoice())
    await service.sql`alter table payment_objects rename to payment_objects_away`
    t.match(await send(event), { status: 500, body: { code: 'internal_error' } })
    await service.sql`alter table payment_objects_away rename to payment_objects`
    t.match(await send(event), { status: 200, body: { duplicate: false } })
    t.same(await payer.events(), ['payment.failed'])
  })

  t.test('only what the processor signed just now is believed', async (t) => {
    const event = makeEvent('invoice.paid', { id: 'in_x' })
    t.equal((await send(event, undefined, { secret: 'wrong' })).status, 400)
    t.equal((await send(event, undefined, { timestamp: seconds() - 301 })).status, 400)
    t.equal((await send(event, undefined, { secret: 'old' })).status, 200, 'any configured secret')
    const bare = { method: 'POST', url: '/api/v1/webhooks/stripe', payload: '{}' } as const
    t.equal((await service.server.inject(bare)).statusCode, 401)
    const garbage = { ...bare, headers: { 'stripe-signature': '\u00e9=,,t=1' } }
    t.equal((await service.server.inject(garbage)).statusCode, 400)
    t.equal((await send([] as never)).status, 400, 'signed, but no event')
  })
})

t.test('payment webhooks that are not signed', async (t) => {
  const service = await openService(t, {
    env: { PAYMENT_WEBHOOK_SECRET: SECRET },
    anonymousRate: ANONYMOUS_RATE,
    trustedProxies: '127.0.0.1',
  })
  const sign = (payload: string, more: { secret?: string; timestamp?: number } = {}) =>
    webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: seconds(), ...more })
  const makePayload = () =>
    JSON.stringify({ id: `evt_${randomUUID()}`, type: 'customer.created', created: seconds() })
  function send(address: string, payload: string, signature?: string) {
    const headers = {
      'x-forwarded-for': address,
      ...(signature !== undefined && { 'stripe-signature': signature }),
    }
    return service.server.inject({
      method: 'POST',
      url: '/api/v1/webhooks/stripe',
      headers,
      payload,
    })
  }
  const kinds: Record<string, (payload: string) => string | undefined> = {
    'without a signature': () => undefined,
    'with a malformed one': () => 'é=,,t=1',
    'with an old one': (payload) => sign(payload, { timestamp: seconds() - 301 }),
    'with one of another secret': (payload) => sign(payload, { secret: 'wrong' }),
  }
  for (const [i, [kind, make]] of Object.entries(kinds).entries()) {
    t.test(`count against their address ${kind}, which the processor still reaches`, async (t) => {
      const address = `203.0.113.${i}`
      const ask = () => {
        const payload = makePayload()
        return send(address, payload, make(payload))
      }
      for (let n = 0; n < 10; n++) t.equal((await ask()).statusCode, i === 0 ? 401 : 400)
      const refused = await until(async () => {
        const answer = await ask()
        return answer.statusCode === 429 && answer
      })
      t.match(refused.headers, { 'retry-after': /^[12]$/, 'x-quota-exceeded': 'rate_limit' })
      const payload = makePayload()
      const genuine = await send(address, payload, sign(payload))
      t.equal(genuine.statusCode, 200)
      t.equal(genuine.headers['ratelimit-limit'], undefined)
    })
  }

  t.test('are the only ones that count', async (t) => {
    for (let n = 0; n < 20; n++) {
      const payload = makePayload()
      t.equal((await send('203.0.113.9', payload, sign(payload))).statusCode, 200)
    }
    t.match(await send('203.0.113.9', '{}'), {
      statusCode: 401,
      headers: { 'ratelimit-remaining': '9' },
    })
  })
})

t.test('a processor that is not known has no path', async (t) => {
  const service = await openService(t, { env: { PAYMENT_WEBHOOK_SECRET: SECRET } })
  const sent = { method: 'POST', url: '/api/v1/webhooks/paddle', payload: '{}' } as const
  t.equal((await service.server.inject(sent)).statusCode, 404)
})

t.test('without a configured secret the receivers answer 501', async (t) => {
  const service = await openService(t)
  for (const path of ['/webhooks/stripe', '/billing/webhook']) {
    const response = await service.server.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      payload: '{}',
    })
    t.equal(response.statusCode, 501)
  }
})

t.test('bodies of slow senders end in time', async (t) => {
  const service = await openService(t, { env: { PAYMENT_WEBHOOK_SECRET: SECRET } })
  const server = await createApi(service.context, { patience: { ...PATIENCE, bodyMs: 300 } })
  await server.start()
  t.teardown(() => server.stop({ timeout: 100 }))
  const { port } = server.listener.address() as AddressInfo
  const answers = await Promise.all(
    [100, 100_000].map((sentBytes) => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.write(
        `POST /api/v1/webhooks/stripe HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nStripe-Signature: t=${seconds()},v1=${'0'.repeat(64)}\r\nContent-Length: 200000\r\n\r\n`,
      )
      socket.write('x'.repeat(sentBytes))
      return text(socket)
    }),
  )
  for (const answer of answers) t.match(answer, /^HTTP\/1\.1 408 /)
})
