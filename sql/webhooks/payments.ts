import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import type { Plan } from '../org/organizations.ts'

export interface PaymentEvent {
  readonly id: string
  readonly type: string
  /** Seconds since 1970. */
  readonly created: number
  readonly livemode: boolean
  readonly payload: Readonly<Record<string, unknown>>
}

/**
 * Claims an event by its id. False when another transaction claimed it; waits for one that is under
 * way, so that a claim can be taken again when its transaction rolls back.
 */
export async function claimPaymentEvent(sql: Transaction, event: PaymentEvent) {
  const inserted = await sql`
    insert into payment_events (id, type, created, livemode, payload)
    values (${event.id}, ${event.type}, ${event.created}, ${event.livemode},
      ${jsonText(event.payload)}::text::jsonb)
    on conflict (id) do nothing`
  return inserted.count === 1
}

/** Stores whose event it was and, when it had no effect, why. */
export async function settlePaymentEvent(
  sql: Transaction,
  id: string,
  orgId: string | null,
  ignored: string | null,
) {
  await sql`update payment_events set org_id = ${orgId}, ignored = ${ignored} where id = ${id}`
}

/** Deletes at most `limit` events that were received 90 days ago. Their processor sends none again by then. */
export async function deleteOldPaymentEvents(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from payment_events where id in (
      select id from payment_events where received_at < now() - interval '90 days'
      order by received_at limit ${limit} for update skip locked)`
  return deleted.count
}

/**
 * Applies an event to the processor's object it is about, unless a newer one was applied: the greater
 * `created` wins; at a tie, the final state does. False when this event is superseded.
 */
export async function advancePaymentObject(
  sql: Transaction,
  id: string,
  created: number,
  terminal: boolean,
) {
  const updated = await sql`
    insert into payment_objects as o (id, created, terminal)
    values (${id}, ${created}, ${terminal})
    on conflict (id) do update set created = excluded.created, terminal = excluded.terminal
      where o.created < excluded.created
        or (o.created = excluded.created and (excluded.terminal or not o.terminal))`
  return updated.count === 1
}

/** True for the first confirmation of an invoice, whatever events confirm it. */
export async function confirmInvoice(sql: Transaction, id: string) {
  const updated = await sql`
    update payment_objects set confirmed = true where id = ${id} and not confirmed`
  return updated.count === 1
}

/**
 * The organization that has a customer of the processor. Until the transaction ends, others neither apply
 * events of the customer nor give it to an organization.
 */
export async function lockPaymentCustomer(tx: Transaction, customerId: string) {
  await tx`
    select pg_advisory_xact_lock(hashtextextended('payment customer ' || ${customerId}::text, 0))`
  const [row] = await tx<{ id: string }[]>`
    select id from organizations where payment_customer_id = ${customerId}`
  return row?.id
}

/** Gives an organization a customer, whom no other one has, in the place of its last one. */
export async function setPaymentCustomer(sql: Queryable, orgId: string, customerId: string) {
  await sql`update organizations set payment_customer_id = ${customerId} where id = ${orgId}`
}

/** Gives an organization a customer, whom none has, unless it has one already. False when it has. */
export async function addPaymentCustomer(sql: Queryable, orgId: string, customerId: string) {
  const updated = await sql`
    update organizations set payment_customer_id = ${customerId}
    where id = ${orgId} and payment_customer_id is null`
  return updated.count === 1
}

/** Events of a customer that came when no organization had it: the newest `limit`, oldest first. */
export async function listEventsOfNobody(sql: Queryable, customerId: string, limit: number) {
  const newest = await sql<PaymentEvent[]>`
    select id, type, created, livemode, payload from payment_events
    where ignored = 'no_organization'
      and coalesce(payload #>> '{data,object,customer,id}', payload #>> '{data,object,customer}')
        = ${customerId}
    order by created desc, received_at desc limit ${limit}`
  return newest.reverse()
}

/** Notes that a subscription is in force, and sets the plan of the newest one that is. */
export async function givePlan(
  tx: Transaction,
  orgId: string,
  plan: Plan,
  subscription: { readonly id: string; readonly created: number },
) {
  const { id, created } = subscription
  await lockPlan(tx, orgId)
  await tx`
    insert into plan_subscriptions (org_id, id, created, plan)
    values (${orgId}, ${id}, ${created}, ${plan})
    on conflict (org_id, id) do update set created = excluded.created, plan = excluded.plan`
  await setPlan(tx, orgId)
}

/** Notes that a subscription has ended, and sets the plan of the newest one in force, or the free one. */
export async function endPlan(tx: Transaction, orgId: string, subscriptionId: string) {
  await lockPlan(tx, orgId)
  await tx`delete from plan_subscriptions where org_id = ${orgId} and id = ${subscriptionId}`
  await setPlan(tx, orgId)
}

/** Until the transaction ends, no other one changes which subscriptions an organization has. */
async function lockPlan(tx: Transaction, orgId: string) {
  await tx`select from organizations where id = ${orgId} for no key update`
}

async function setPlan(tx: Transaction, orgId: string) {
  await tx`
    update organizations set plan = coalesce((
      select plan from plan_subscriptions where org_id = ${orgId}
      order by created desc, id desc limit 1), 'free')
    where id = ${orgId}`
}

/** Begins the grace period, or leaves one that runs; returns its end. */
export async function startGracePeriod(sql: Transaction, orgId: string, ends: Date) {
  const [row] = await sql<{ grace_period_ends: Date }[]>`
    update organizations set grace_period_ends = coalesce(grace_period_ends, ${ends})
    where id = ${orgId} returning grace_period_ends`
  return row?.grace_period_ends ?? ends
}

export async function clearGracePeriod(sql: Transaction, orgId: string) {
  await sql`update organizations set grace_period_ends = null where id = ${orgId}`
}

export async function findBilling(sql: Queryable, orgId: string) {
  const [row] = await sql<
    {
      plan: Plan
      grace_period_ends: Date | null
      billing_contact: string | null
      degraded: boolean
    }[]
  >`
    select plan, grace_period_ends, billing_contact,
      coalesce(grace_period_ends <= now(), false) as degraded
    from organizations where id = ${orgId}`
  return row
}
