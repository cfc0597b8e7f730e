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
 * The organization of a payment: the one the event names by id, which is thereby bound to the
 * customer, or the one bound to the customer.
 */
export async function findPayingOrganization(
  sql: Transaction,
  named: string | null,
  customerId: string | null,
) {
  const [row] = await sql<{ id: string }[]>`
    select id from organizations
    where id::text = ${named} or payment_customer_id = ${customerId}
    order by id::text = ${named} desc nulls last limit 1`
  if (row && customerId) {
    await sql`
      update organizations set payment_customer_id = ${customerId}
      where id = ${row.id} and payment_customer_id is null
        and not exists (select 1 from organizations where payment_customer_id = ${customerId})`
  }
  return row?.id
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
