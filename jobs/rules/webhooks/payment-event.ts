import { PLANS } from '../org/plan.ts'
import type { Plan } from '../org/plan.ts'
import { isObject } from '../core/reader.ts'
import { isUuid } from '../core/uuid.ts'

/** What an event of the payment processor means to us. */
export type PaymentMeaning =
  | { kind: 'payment_failed' | 'payment_confirmed'; amount: number; currency: string }
  /** `created`: when the subscription was made, in seconds since 1970; 0 where it does not say. */
  | { kind: 'plan'; plan: Plan; created: number }
  | { kind: 'plan_ended' }
  | { kind: 'unchanged' }
  | { kind: 'not_handled' }

export interface PaymentFacts {
  /** The processor's object the event is about: an invoice, a subscription or a checkout. */
  readonly objectId: string
  readonly customerId: string | null
  /** The id of an organization that the object names, if any. */
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
    organization: uuidOf(object['client_reference_id']) ?? uuidOf(metadata['org_id']),
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
      return { kind: 'plan_ended' }
    case 'customer.subscription.created':
    case 'customer.subscription.updated': {
      const plan = planOf(object, metadata)
      const holds = object['status'] === 'active' || object['status'] === 'trialing'
      if (!plan || !holds) return { kind: 'unchanged' }
      return { kind: 'plan', plan, created: integerOf(object['created']) }
    }
    // It alone names an organization by `client_reference_id`; what was bought comes in events of its own.
    case 'checkout.session.completed':
      return { kind: 'unchanged' }
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
  const currency = object['currency']
  return {
    amount: integerOf(object[member]),
    currency: typeof currency === 'string' ? currency.toLowerCase() : '',
  }
}

function integerOf(value: unknown) {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}

/** An id, or an object that has one: the processor expands references on request. */
function idOf(value: unknown) {
  return textOf(isObject(value) ? value['id'] : value)
}

function uuidOf(value: unknown) {
  return typeof value === 'string' && isUuid(value) ? value : null
}

function textOf(value: unknown) {
  return typeof value === 'string' && value !== '' && value.length <= 255 ? value : null
}

const TERMINAL = new Set([
  'invoice.paid',
  'invoice.payment_succeeded',
  'customer.subscription.deleted',
])
