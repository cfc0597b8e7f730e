import type { Queue } from '../../jobs/queue.ts'
import { isObject } from '../../jobs/rules/core/reader.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { readPaymentEvent } from '../../jobs/rules/webhooks/payment-event.ts'
import type { PaymentFacts } from '../../jobs/rules/webhooks/payment-event.ts'
import type { Transaction } from '../core/db.ts'
import { findOrganization } from '../org/organizations.ts'
import {
  addPaymentCustomer,
  advancePaymentObject,
  clearGracePeriod,
  confirmInvoice,
  endPlan,
  givePlan,
  listEventsOfNobody,
  lockPaymentCustomer,
  settlePaymentEvent,
  startGracePeriod,
} from '../webhooks/payments.ts'
import type { PaymentEvent } from '../webhooks/payments.ts'
import { emitEvent } from './emit-event.ts'

/**
 * Does what an event says that was claimed, and stores whose it was and, when it had no effect, why. Where it
 * binds its customer to an organization, it does so after the customer's events that came before.
 */
export async function applyPayment(tx: Transaction, queue: Queue, event: PaymentEvent, at: Date) {
  const { orgId, ignored } = await apply(tx, queue, event, at)
  await settlePaymentEvent(tx, event.id, orgId, ignored)
}

/**
 * Applies what came of a customer before an organization had it: the newest 100 events, in their order.
 * Returns how many there were.
 */
export async function applyEventsOfNobody(
  tx: Transaction,
  queue: Queue,
  customerId: string,
  at: Date,
) {
  const events = await listEventsOfNobody(tx, customerId, MAX_EVENTS)
  for (const event of events) await applyPayment(tx, queue, event, at)
  return events.length
}

async function apply(
  tx: Transaction,
  queue: Queue,
  event: PaymentEvent,
  at: Date,
): Promise<{ orgId: string | null; ignored: string | null }> {
  const data = event.payload['data']
  const facts = readPaymentEvent(event.type, isObject(data) ? data['object'] : undefined)
  if (!facts || facts.meaning.kind === 'not_handled') return { orgId: null, ignored: 'not_handled' }
  const orgId = await findPayer(tx, queue, facts, at)
  if (orgId === undefined) return { orgId: null, ignored: 'no_organization' }
  const newest = await advancePaymentObject(tx, facts.objectId, event.created, facts.terminal)
  if (!newest) return { orgId, ignored: 'superseded' }
  await applyMeaning(tx, queue, orgId, facts, at)
  return { orgId, ignored: null }
}

/**
 * The organization of a payment: the one the event names by its id, which gets the customer unless it has one
 * or another has this one; else the one that has the customer.
 */
async function findPayer(
  tx: Transaction,
  queue: Queue,
  { organization, customerId }: PaymentFacts,
  at: Date,
) {
  const owner = customerId === null ? undefined : await lockPaymentCustomer(tx, customerId)
  const named = organization === null ? undefined : await findOrganization(tx, organization)
  if (!named) return owner
  if (customerId !== null && owner === undefined) {
    const isBound = await addPaymentCustomer(tx, named.id, customerId)
    if (isBound) await applyEventsOfNobody(tx, queue, customerId, at)
  }
  return named.id
}

async function applyMeaning(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  { objectId, meaning }: PaymentFacts,
  at: Date,
) {
  switch (meaning.kind) {
    case 'plan':
      return givePlan(tx, orgId, meaning.plan, { id: objectId, created: meaning.created })
    case 'plan_ended':
      return endPlan(tx, orgId, objectId)
    case 'payment_failed': {
      const ends = await startGracePeriod(tx, orgId, new Date(at.getTime() + GRACE_MS))
      return emitEvent(tx, queue, orgId, 'payment.failed', moneyData(objectId, meaning, ends), at)
    }
    case 'payment_confirmed': {
      if (!(await confirmInvoice(tx, objectId))) return undefined
      await clearGracePeriod(tx, orgId)
      const data = moneyData(objectId, meaning, null)
      return emitEvent(tx, queue, orgId, 'payment.confirmed', data, at)
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

/** How long an organization keeps its plan after a failed payment. */
const GRACE_MS = 7 * DAY_MS
/** Of a customer without an organization, applied in one transaction. */
const MAX_EVENTS = 100
