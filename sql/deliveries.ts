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

export interface StartedAttempt {
  readonly event: string
  readonly body: Buffer
  readonly attempt_no: number
  readonly max_attempts: number
  readonly webhook_url: string | null
  readonly secret: Buffer | null
}

/**
 * Begins the next attempt of each delivery, once: one that is being attempted, has ended or has no
 * attempt left is not begun and has no entry, whoever asks. Addresses and secrets are read anew for each
 * attempt.
 * @returns by the delivery's id
 */
export async function startAttempts(
  sql: Queryable,
  deliveries: readonly { readonly orgId: string; readonly id: string }[],
) {
  const rows = await sql<(StartedAttempt & { id: string })[]>`
    with started as (
      update deliveries d set state = 'attempting', attempt_no = attempt_no + 1, attempted_at = now()
      from unnest(${deliveries.map(({ orgId }) => orgId)}::uuid[],
          ${deliveries.map(({ id }) => id)}::uuid[]) as w (org_id, id)
        join notification_settings s on s.org_id = w.org_id
      where d.org_id = w.org_id and d.id = w.id
        and d.state in ('pending', 'retry_wait') and d.attempt_no < d.max_attempts
      returning d.org_id, d.id, d.event, d.body, d.attempt_no, d.max_attempts, s.webhook_url, s.secret
    ), logged as (
      insert into delivery_attempts (org_id, delivery_id, number)
      select org_id, id, attempt_no from started
    )
    select id, event, body, attempt_no, max_attempts, webhook_url, secret from started`
  return new Map(rows.map(({ id, ...started }) => [id, started]))
}

export interface AttemptResult {
  readonly duration_ms: number
  readonly status_code: number | null
  /** A word such as `timeout`; null when delivered. */
  readonly error: string | null
  readonly response_excerpt: string | null
}

/** How an attempt ended, and the delivery's state after it. */
export interface EndedAttempt {
  readonly orgId: string
  readonly id: string
  readonly number: number
  readonly state: 'delivered' | 'failed' | 'retry_wait'
  readonly result: AttemptResult
}

/**
 * Stores how attempts ended. Returns the ids of their deliveries but for those whose attempt was taken
 * for lost meanwhile, and stays so.
 */
export async function finishAttempts(sql: Queryable, ended: readonly EndedAttempt[]) {
  const of = <T>(member: (each: EndedAttempt) => T) => ended.map(member)
  const rows = await sql<{ id: string }[]>`
    with ended as (
      select * from unnest(${of(({ orgId }) => orgId)}::uuid[], ${of(({ id }) => id)}::uuid[],
        ${of(({ number }) => number)}::int[], ${of(({ state }) => state)}::text[],
        ${of(({ result }) => result.duration_ms)}::int[],
        ${of(({ result }) => result.status_code)}::int[],
        ${of(({ result }) => result.error)}::text[],
        ${of(({ result }) => result.response_excerpt)}::text[])
        as e (org_id, id, number, state, duration_ms, status_code, error, response_excerpt)
    ), finished as (
      update deliveries d set state = e.state, error = e.error,
        finished_at = case when e.state <> 'retry_wait' then now() end
      from ended e
      where d.org_id = e.org_id and d.id = e.id and d.state = 'attempting'
        and d.attempt_no = e.number
      returning d.org_id, d.id
    )
    update delivery_attempts a set duration_ms = e.duration_ms, status_code = e.status_code,
      error = e.error, response_excerpt = e.response_excerpt
    from ended e join finished using (org_id, id)
    where a.org_id = e.org_id and a.delivery_id = e.id and a.number = e.number
    returning a.delivery_id as id`
  return new Set(rows.map(({ id }) => id))
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
