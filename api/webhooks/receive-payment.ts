import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { readPaymentEvent } from '../../jobs/rules/webhooks/payment-event.ts'
import type { PaymentFacts } from '../../jobs/rules/webhooks/payment-event.ts'
import { isObject } from '../../jobs/rules/core/reader.ts'
import {
  isSignedPayment,
  isTimely,
  readPaymentSignature,
} from '../../jobs/rules/webhooks/signature.ts'
import { bool, shape, textReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { emitEvent } from '../../sql/transactions/emit-event.ts'
import {
  advancePaymentObject,
  claimPaymentEvent,
  clearGracePeriod,
  confirmInvoice,
  findPayingOrganization,
  settlePaymentEvent,
  startGracePeriod,
} from '../../sql/webhooks/payments.ts'
import type { PaymentEvent } from '../../sql/webhooks/payments.ts'
import { updatePlan } from '../../sql/org/organizations.ts'
import type { ApiContext } from '../context.ts'
import { endpoint } from '../endpoint.ts'
import { ApiError, badRequest, notFound, unauthorized } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { headerOf } from '../header.ts'
import { admitAddress } from '../rate-limit.ts'
import { readWhole } from '../read-body.ts'

const MAX_EVENT_BYTES = 256 << 10

export const receivePayment = endpoint('POST', '/webhooks/{processor}', {
  summary: 'Receive an event of the payment processor',
  description:
    'The signature is verified over the raw body. Requests that are not signed count against the limit of their address, and signed ones against none. An event counts once, however often it is sent; after a failure here it is free to be sent again.',
  access: 'open',
  aliases: ['/billing/webhook'],
  params: shape({}, { processor: textReference().description('stripe') }),
  // Read by the operation, of requests that may be signed alone.
  body: { stream: true, maxBytes: MAX_EVENT_BYTES, types: ['application/json'] },
  answers: {
    200: Joi.object({
      received: Joi.boolean().valid(true).required(),
      duplicate: Joi.boolean().required(),
    }).label('PaymentEventReceipt'),
    401: errorBody,
    429: errorBody,
    501: errorBody,
  },
  async handle({ context, params, request }) {
    const { payments } = context
    if (params.processor && params.processor !== payments.processor) {
      throw refused(request, notFound('Path'))
    }
    if (payments.secrets.length === 0) {
      const error = new ApiError(501, 'not_implemented', 'Payment webhooks are not configured')
      throw refused(request, error)
    }
    const event = await readVerified(context, request)
    const claimed = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await tx`select set_config('lock_timeout', '3s', true), set_config('statement_timeout', '8s', true)`
      if (!(await claimPaymentEvent(tx, event))) return false
      const { orgId, ignored } = await apply(context, tx, event)
      await settlePaymentEvent(tx, event.id, orgId, ignored)
      return true
    })
    return { received: true, duplicate: !claimed }
  },
})

async function readVerified(
  { payments, now }: ApiContext,
  request: Request,
): Promise<PaymentEvent> {
  const header = headerOf(request, 'stripe-signature')
  if (!header) throw refused(request, unauthorized('Missing signature'))
  const signature = readPaymentSignature(header)
  if (!signature) throw refused(request, badRequest('Signature mismatch'))
  if (!isTimely(signature, Math.floor(now().getTime() / 1000))) {
    throw refused(request, badRequest('Signature timestamp is too far from now'))
  }
  const raw = await readWhole(request, { maxBytes: MAX_EVENT_BYTES }, request.server.app.bodies)
  if (!isSignedPayment(signature, raw, payments.secrets)) {
    throw refused(request, badRequest('Signature mismatch'))
  }
  return readEvent(raw)
}

/** The error for a request that is not the processor's. It counts against the limit of its address. */
function refused(request: Request, error: ApiError) {
  admitAddress(request)
  return error
}

function readEvent(raw: Buffer): PaymentEvent {
  let event: unknown
  try {
    event = JSON.parse(raw.toString('utf8'))
  } catch {
    throw badRequest('Body is not JSON')
  }
  const { error, value } = envelope.validate(event)
  if (error || !isObject(event)) throw badRequest(`Not an event: ${error?.message}`)
  return { ...value, livemode: value.livemode ?? false, payload: event }
}

/** Does what the event says. Returns whose it was and, when it had no effect, why. */
async function apply(
  context: ApiContext,
  tx: Transaction,
  event: PaymentEvent,
): Promise<{ orgId: string | null; ignored: string | null }> {
  if (event.livemode !== context.payments.livemode) return { orgId: null, ignored: 'livemode' }
  const data = event.payload['data']
  const facts = readPaymentEvent(event.type, isObject(data) ? data['object'] : undefined)
  if (!facts || facts.meaning.kind === 'not_handled') return { orgId: null, ignored: 'not_handled' }
  const orgId = await findPayingOrganization(tx, facts.organization, facts.customerId)
  if (!orgId) return { orgId: null, ignored: 'no_organization' }
  const newest = await advancePaymentObject(tx, facts.objectId, event.created, facts.terminal)
  if (!newest) return { orgId, ignored: 'superseded' }
  await applyMeaning(context, tx, orgId, facts)
  return { orgId, ignored: null }
}

async function applyMeaning(
  { queue, now }: ApiContext,
  tx: Transaction,
  orgId: string,
  { objectId, meaning }: PaymentFacts,
) {
  switch (meaning.kind) {
    case 'plan':
      return updatePlan(tx, orgId, meaning.plan)
    case 'payment_failed': {
      const ends = await startGracePeriod(tx, orgId, new Date(now().getTime() + GRACE_MS))
      return emitEvent(
        tx,
        queue,
        orgId,
        'payment.failed',
        moneyData(objectId, meaning, ends),
        now(),
      )
    }
    case 'payment_confirmed': {
      await clearGracePeriod(tx, orgId)
      if (!(await confirmInvoice(tx, objectId))) return undefined
      const data = moneyData(objectId, meaning, null)
      return emitEvent(tx, queue, orgId, 'payment.confirmed', data, now())
    }
    case 'unchanged':
    case 'not_handled':
      return undefined
  }
}

function moneyData(
  payment_invoice_id: string,
  { amount, currency }: { amount: number; currency: string },
  graceEnds: Date | null,
) {
  return {
    payment_invoice_id,
    amount,
    currency,
    grace_period_ends: graceEnds?.toISOString() ?? null,
  }
}

const envelope = shape(
  {
    id: Joi.string().max(255),
    type: Joi.string().max(255),
    created: Joi.number().integer().min(0).max(1e12),
  },
  { livemode: bool() },
)
/** How long an organization keeps its plan after a failed payment. */
const GRACE_MS = 7 * DAY_MS
