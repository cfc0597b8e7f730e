import { randomUUIDv7 } from 'node:crypto'
import type { Queryable } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'

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

/** Returns the new delivery's id. */
export async function insertDelivery(
  sql: Queryable,
  orgId: string,
  delivery: { event: string; body: Buffer; max_attempts: number; redelivery_of?: string },
) {
  const id = randomUUIDv7()
  await sql`
    insert into deliveries (org_id, id, event, body, max_attempts, redelivery_of)
    values (${orgId}, ${id}, ${delivery.event}, ${delivery.body}, ${delivery.max_attempts},
      ${delivery.redelivery_of ?? null})`
  return id
}

/** What a delivery sends. */
export async function findDeliveryBody(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<{ event: string; body: Buffer }[]>`
    select event, body from deliveries where org_id = ${orgId} and id = ${id}`
  return row
}

export interface DeliveryFilter {
  readonly event?: string | undefined
  readonly state?: DeliveryState | undefined
  readonly since?: Date | undefined
  readonly before?: AgeKey | undefined
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
      ${isOlder(sql, sql`(created_at, id)`, filter.before)}
    order by created_at desc, id desc limit ${limit}`
}

/** How many deliveries match, counted no further than `limit`. */
export async function countDeliveries(
  sql: Queryable,
  orgId: string,
  filter: DeliveryFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`deliveries where ${matching(sql, orgId, filter)}`)
}

export async function findDelivery(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<DeliveryRow[]>`
    select ${columns(sql)} from deliveries where org_id = ${orgId} and id = ${id}`
  return row
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
