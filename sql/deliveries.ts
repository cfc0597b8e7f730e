import { randomUUIDv7 } from 'node:crypto'
import { deliverWebhook } from '../jobs/deliver-webhook.ts'
import type { Executor, Queue } from '../jobs/queue.ts'
import { envelopeBytes, maxAttempts } from '../jobs/rules/webhook-event.ts'
import type { EventData } from '../jobs/rules/webhook-event.ts'
import type { Queryable, Transaction } from './db.ts'

export type DeliveryState = 'pending' | 'attempting' | 'retry_wait' | 'delivered' | 'failed'

export interface DeliveryRow {
  id: string
  event: string
  state: DeliveryState
  attempt_no: number
  max_attempts: number
  error: string | null
  redelivery_of: string | null
  created_at: Date
  finished_at: Date | null
}

export interface AttemptRow {
  number: number
  started_at: Date
  duration_ms: number | null
  status_code: number | null
  error: string | null
  response_excerpt: string | null
}

/**
 * Writes a notification and its job in the transaction of what it tells about. Where the organization
 * has no address or has not selected the event there is nothing to write. `test` is sent whatever is
 * selected. Returns the delivery's id.
 */
export async function emitEvent<E extends keyof EventData>(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  event: E,
  data: EventData[E],
  at: Date,
): Promise<string | undefined> {
  const [org] = await tx<{ name: string; webhook_url: string | null; events: string[] | null }[]>`
    select o.name, s.webhook_url, s.events
    from organizations o join notification_settings s on s.org_id = o.id
    where o.id = ${orgId}`
  if (!org?.webhook_url) return undefined
  if (event !== 'test' && org.events && !org.events.includes(event)) return undefined
  const body = envelopeBytes(event, { id: orgId, name: org.name }, data, at)
  return insertDelivery(tx, queue, orgId, { event, body, max_attempts: maxAttempts(event) })
}

/** A new delivery of the same bytes, or undefined when there is no such delivery. */
export async function redeliver(tx: Transaction, queue: Queue, orgId: string, id: string) {
  const [original] = await tx<{ event: string; body: Buffer }[]>`
    select event, body from deliveries where org_id = ${orgId} and id = ${id}`
  return (
    original &&
    insertDelivery(tx, queue, orgId, { ...original, max_attempts: 1, redelivery_of: id })
  )
}

async function insertDelivery(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  delivery: { event: string; body: Buffer; max_attempts: number; redelivery_of?: string },
) {
  const id = randomUUIDv7()
  await tx`
    insert into deliveries (org_id, id, event, body, max_attempts, redelivery_of)
    values (${orgId}, ${id}, ${delivery.event}, ${delivery.body}, ${delivery.max_attempts},
      ${delivery.redelivery_of ?? null})`
  await queue.enqueue(tx as Executor, deliverWebhook, { delivery_id: id }, { orgId })
  return id
}

/**
 * Begins the next attempt, once: a delivery that is being attempted, has ended or has no attempt left
 * is not begun, whoever asks. The address and the secret are read anew for each attempt.
 */
export async function startAttempt(sql: Queryable, orgId: string, id: string) {
  const [started] = await sql<
    {
      event: string
      body: Buffer
      attempt_no: number
      max_attempts: number
      webhook_url: string | null
      secret: Buffer | null
    }[]
  >`
    with started as (
      update deliveries d set state = 'attempting', attempt_no = attempt_no + 1, attempted_at = now()
      from notification_settings s
      where d.org_id = ${orgId} and d.id = ${id} and s.org_id = d.org_id
        and d.state in ('pending', 'retry_wait') and d.attempt_no < d.max_attempts
      returning d.event, d.body, d.attempt_no, d.max_attempts, s.webhook_url, s.secret
    ), logged as (
      insert into delivery_attempts (org_id, delivery_id, number)
      select ${orgId}, ${id}, attempt_no from started
    )
    select event, body, attempt_no, max_attempts, webhook_url, secret from started`
  return started
}

export interface AttemptResult {
  readonly duration_ms: number
  readonly status_code: number | null
  /** A word such as `timeout`; null when delivered. */
  readonly error: string | null
  readonly response_excerpt: string | null
}

/**
 * Stores how an attempt ended, and the delivery's state after it. False: the attempt was taken for
 * lost meanwhile, and stays so.
 */
export async function finishAttempt(
  sql: Queryable,
  orgId: string,
  id: string,
  number: number,
  state: 'delivered' | 'failed' | 'retry_wait',
  result: AttemptResult,
) {
  const updated = await sql`
    with finished as (
      update deliveries set state = ${state}, error = ${result.error},
        finished_at = ${state === 'retry_wait' ? null : sql`now()`}
      where org_id = ${orgId} and id = ${id} and state = 'attempting' and attempt_no = ${number}
      returning id
    )
    update delivery_attempts set duration_ms = ${result.duration_ms},
      status_code = ${result.status_code}, error = ${result.error},
      response_excerpt = ${result.response_excerpt}
    where org_id = ${orgId} and delivery_id = (select id from finished) and number = ${number}`
  return updated.count === 1
}

/**
 * Settles attempts whose worker was lost: what was sent is not known. An event that is sent only once
 * has failed; `regression.detected` waits for its next attempt. Returns those to be enqueued again.
 */
export async function settleLostAttempts(sql: Transaction, olderThanSeconds: number) {
  const lost = await sql<
    { org_id: string; id: string; attempt_no: number; state: DeliveryState }[]
  >`
    update deliveries set error = 'worker_lost',
      state = case when attempt_no < max_attempts then 'retry_wait' else 'failed' end,
      finished_at = case when attempt_no < max_attempts then null else now() end
    where (org_id, id) in (
      select org_id, id from deliveries
      where state = 'attempting' and attempted_at < now() - make_interval(secs => ${olderThanSeconds})
      order by attempted_at limit 1000 for update skip locked)
    returning org_id, id, attempt_no, state`
  await sql`
    update delivery_attempts a set error = 'worker_lost'
    from unnest(${lost.map(({ org_id }) => org_id)}::uuid[], ${lost.map(({ id }) => id)}::uuid[],
      ${lost.map(({ attempt_no }) => attempt_no)}::int[]) as l (org_id, id, number)
    where a.org_id = l.org_id and a.delivery_id = l.id and a.number = l.number`
  return lost.filter(({ state }) => state === 'retry_wait')
}

export interface DeliveryFilter {
  readonly event?: string | undefined
  readonly state?: DeliveryState | undefined
  readonly since?: Date | undefined
  readonly before?: { readonly created_at: Date; readonly id: string } | undefined
}

/** Newest first. */
export async function listDeliveries(
  sql: Queryable,
  orgId: string,
  filter: DeliveryFilter,
  limit: number,
) {
  return sql<DeliveryRow[]>`
    select ${columns(sql)} from deliveries
    where ${matching(sql, orgId, filter)}
      ${
        filter.before
          ? sql`and (created_at, id) < (${filter.before.created_at}, ${filter.before.id})`
          : sql``
      }
    order by created_at desc, id desc limit ${limit}`
}

/** How many deliveries match, counted no further than `limit`. */
export async function countDeliveries(
  sql: Queryable,
  orgId: string,
  filter: DeliveryFilter,
  limit: number,
) {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from (
      select 1 from deliveries where ${matching(sql, orgId, filter)} limit ${limit}) as counted`
  return row?.n ?? 0
}

export async function findDelivery(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<DeliveryRow[]>`
    select ${columns(sql)} from deliveries where org_id = ${orgId} and id = ${id}`
  return row
}

export async function listAttempts(sql: Queryable, orgId: string, deliveryId: string) {
  return sql<AttemptRow[]>`
    select number, started_at, duration_ms, status_code, error, response_excerpt
    from delivery_attempts where org_id = ${orgId} and delivery_id = ${deliveryId} order by number`
}

function columns(sql: Queryable) {
  return sql`id, event, state, attempt_no, max_attempts, error, redelivery_of, created_at, finished_at`
}

function matching(sql: Queryable, orgId: string, filter: DeliveryFilter) {
  return sql`org_id = ${orgId}
    ${filter.event ? sql`and event = ${filter.event}` : sql``}
    ${filter.state ? sql`and state = ${filter.state}` : sql``}
    ${filter.since ? sql`and created_at >= ${filter.since}` : sql``}`
}
