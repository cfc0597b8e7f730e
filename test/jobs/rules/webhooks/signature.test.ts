import t from 'tap'
import { createHmac } from 'node:crypto'
import Stripe from 'stripe'
import {
  isSignedPayment,
  isTimely,
  readPaymentSignature,
  signBody,
} from '../../../../jobs/rules/webhooks/signature.ts'

t.test('a webhook signature is HMAC-SHA256 over the bytes', async (t) => {
  const body = Buffer.from(
    '{"event":"manifest.changed","timestamp":"2026-01-02T03:04:05.000+00:00","org_id":"org_1","org_name":"Acmé","data":{"agent_name":"a","version_label":"v2","previous_version_label":"v1","manifest_id":"m","traces_affected":0}}',
  )
  t.equal(body.length, 223)
  t.equal(
    signBody('whsec_test', body),
    'sha256=2aa7253c43faa8c40521478dc1e18b2472906508c840c943771cb43dbdb25baf',
  )
})

t.test('a payment signature', async (t) => {
  const secret = 'whsec_test'
  const now = 1_767_323_045
  const body = Buffer.from(
    '{"id":"evt_1","type":"invoice.payment_failed","created":1767323045,"livemode":false,"data":{"object":{"id":"in_1"}}}',
  )
  const good = 'd632a80b505cc6e2a237bbbec24674acbdf43e0aa1600dfe572bbd6d08d02354'
  const bad = 'f'.repeat(64)
  function check(header: string, at = now, secrets = [secret]) {
    const signature = readPaymentSignature(header)
    if (!signature || !isSignedPayment(signature, body, secrets)) return 'mismatch'
    return isTimely(signature, at) ? 'ok' : 'expired'
  }

  t.equal(check(`t=${now},v1=${good}`), 'ok', 'the vector of the design')
  t.equal(check(`t=${now},v1=${bad},v1=${good}`), 'ok', 'any of several')
  t.equal(check(`v1=${good}, t=${now}, v0=x`), 'ok', 'in any order')
  t.equal(check(`t=${now},v1=${good}`, now, ['other', secret]), 'ok', 'any of several secrets')
  t.equal(check(`t=${now},v1=${good}`, now + 300), 'ok')
  t.equal(check(`t=${now},v1=${good}`, now + 301), 'expired')
  t.equal(check(`t=${now},v1=${good}`, now - 301), 'expired')
  t.equal(check(`t=${now + 1},v1=${good}`), 'mismatch', 'the time is signed too')

  t.test('that is not one is a mismatch, never an error', async (t) => {
    const garbage = ['', 't=', `t=${now}`, `v1=${good}`, `t=abc,v1=${good}`, `t=${now},v1=zz`]
    for (const header of [
      ...garbage,
      `t=${now},v1=${good.toUpperCase()}`,
      'é,=,,==',
      `t=-1,v1=${good}`,
    ]) {
      t.equal(check(header), 'mismatch', header)
    }
    const ninth = [...Array.from({ length: 8 }, () => bad), good].map((hex) => `v1=${hex}`)
    t.equal(check(`t=${now},${ninth.join(',')}`), 'mismatch', 'eight are looked at')
  })

  t.test("of the processor's own SDK is accepted", async (t) => {
    const header = new Stripe('sk_test_x').webhooks.generateTestHeaderString({
      payload: body.toString(),
      secret,
      timestamp: now,
    })
    t.equal(check(header), 'ok')
    const own = createHmac('sha256', secret).update(`${now}.${body.toString()}`).digest('hex')
    t.equal(own, good)
  })
})
