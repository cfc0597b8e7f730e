import { PLANS } from '../org/plan.ts'
import type { Plan } from '../org/plan.ts'
import { isObject } from '../core/reader.ts'

/** What an event of the payment processor means to us. */
export type PaymentMeaning =
  | { kind: 'payment_failed' | 'payment_confirmed'; amount: number; currency: string }
  | { kind: 'plan'; plan: Plan }
  | { kind: 'unchanged' }
  | { kind: 'not_handled' }

export interface PaymentFacts {
  /** The processor's object the event is about: an invoice or a subscription. */
  readonly objectId: string
  readonly customerId: string | null
  /** The organization the object names, if any. */
  readonly organization: string | null
  /** Nothing comes after this state of the object. */
  readonly terminal: boolean
  readonly meaning: PaymentMeaning
}

/** Reads an event of the processor; undefined when it has no object with an id. */
export function readPaymentEvent(type: string, object: unknown): PaymentFacts | undefined {
  if (!isObject(object) || typeof object['id'] !== 'string') return undefined
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return {
    objectId: object['id'],
    customerId: idOf(object['customer']),
    organization: textOf(object['client_reference_id']) ?? textOf(metadata['org_id']),
    terminal: TERMINAL.has(type),
    meaning: meaningOf(type, object, metadata),
  }
}

function meaningOf(
  type: string,
  object: Record<string, unknown>,
  metadata: Record<string, unknown>,
): PaymentMeaning {
  switch (type) {
    case 'invoice.payment_failed':
      return { kind: 'payment_failed', ...moneyOf(object, 'amount_due') }
    case 'invoice.paid':
    case 'invoice.payment_succeeded':
      return { kind: 'payment_confirmed', ...moneyOf(object, 'amount_paid') }
    case 'customer.subscription.deleted':
      return { kind: 'plan', plan: 'free' }
    case 'customer.subscription.created':
    case 'customer.subscription.updated': {
      const plan = planOf(object, metadata)
      const holds = object['status'] === 'active' || object['status'] === 'trialing'
      return plan && holds ? { kind: 'plan', plan } : { kind: 'unchanged' }
    }
    default:
      return { kind: 'not_handled' }
  }
}

/** The plan a subscription names: in its metadata, its price's metadata, or its price's lookup key. */
function planOf(object: Record<string, unknown>, metadata: Record<string, unknown>) {
  const items = isObject(object['items']) ? object['items']['data'] : undefined
  const item: unknown = Array.isArray(items) ? items[0] : undefined
  const price = isObject(item) && isObject(item['price']) ? item['price'] : {}
  const priceMetadata = isObject(price['metadata']) ? price['metadata'] : {}
  const words = [metadata['plan'], priceMetadata['plan'], price['lookup_key']]
  return PLANS.find((plan) => words.includes(plan))
}

function moneyOf(object: Record<string, unknown>, member: string) {
  const amount = object[member]
  const currency = object['currency']
  return {
    amount: typeof amount === 'number' && Number.isSafeInteger(amount) ? amount : 0,
    currency: typeof currency === 'string' ? currency.toLowerCase() : '',
  }
}

/** An id, or an object that has one: the processor expands references on request. */
function idOf(value: unknown) {
  return textOf(isObject(value) ? value['id'] : value)
}

function textOf(value: unknown) {
  return typeof value === 'string' && value !== '' && value.length <= 255 ? value : null
}

const TERMINAL = new Set([
  'invoice.paid',
  'invoice.payment_succeeded',
  'customer.subscription.deleted',
])
