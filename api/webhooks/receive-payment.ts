import type { Request } from '@hapi/hapi'
import Joi from 'joi'
import { isObject } from '../../jobs/rules/core/reader.ts'
import {
  isSignedPayment,
  isTimely,
  readPaymentSignature,
} from '../../jobs/rules/webhooks/signature.ts'
import { bool, shape, textReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { applyPayment } from '../../sql/transactions/apply-payment.ts'
import { claimPaymentEvent, settlePaymentEvent } from '../../sql/webhooks/payments.ts'
import type { PaymentEvent } from '../../sql/webhooks/payments.ts'
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
    const { sql, queue, payments, now } = context
    if (params.processor && params.processor !== payments.processor) {
      throw refused(request, notFound('Path'))
    }
    if (payments.secrets.length === 0) {
      const error = new ApiError(501, 'not_implemented', 'Payment webhooks are not configured')
      throw refused(request, error)
    }
    const event = await readVerified(context, request)
    const claimed = await queue.transaction(sql, async (tx: Transaction) => {
      await tx`select set_config('lock_timeout', '3s', true), set_config('statement_timeout', '8s', true)`
      if (!(await claimPaymentEvent(tx, event))) return false
      if (event.livemode === payments.livemode) await applyPayment(tx, queue, event, now())
      else await settlePaymentEvent(tx, event.id, null, 'livemode')
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

const envelope = shape(
  {
    id: Joi.string().max(255),
    type: Joi.string().max(255),
    created: Joi.number().integer().min(0).max(1e12),
  },
  { livemode: bool() },
)
