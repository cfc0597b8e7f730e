import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { deadLetterName } from '../../jobs/job.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { deadJobs } from '../jobs/pg-boss.ts'
import type { DeliveryState } from './deliveries.ts'

export interface AttemptRow {
  number: number
  started_at: Date
  duration_ms: number | null
  status_code: number | null
  error: string | null
  response_excerpt: string | null
}

export interface NextAttempt {
  readonly orgId: string
  readonly id: string
  /** From 1; default whichever is next. */
  readonly number?: number | undefined
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
 * Begins the next attempt of each delivery, once: one that is being attempted, was delivered, has no
 * attempt left or has another one next is not begun and has no entry, whoever asks. One that has failed
 * with attempts left was settled by `failUnattempted`, and its job was redriven. Addresses and secrets are
 * read anew for each attempt.
 * @returns by the delivery's id
 */
export async function startAttempts(sql: Queryable, deliveries: readonly NextAttempt[]) {
  const rows = await sql<(StartedAttempt & { id: string })[]>`
    with started as (
      update deliveries d set state = 'attempting', attempt_no = attempt_no + 1, attempted_at = now(),
        finished_at = null
      from unnest(${deliveries.map(({ orgId }) => orgId)}::uuid[],
          ${deliveries.map(({ id }) => id)}::uuid[],
          ${deliveries.map(({ number }) => number ?? null)}::int[]) as w (org_id, id, number)
        join notification_settings s on s.org_id = w.org_id
      where d.org_id = w.org_id and d.id = w.id
        and d.state in ('pending', 'retry_wait', 'failed') and d.attempt_no < d.max_attempts
        and d.attempt_no = coalesce(w.number - 1, d.attempt_no)
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
 * Stores how attempts ended. Returns the ids of their deliveries, except those whose attempt was settled
 * as lost meanwhile, which stays lost unless the receiver got it.
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
      where d.org_id = e.org_id and d.id = e.id and d.attempt_no = e.number
        and (d.state = 'attempting' or e.state = 'delivered'
          and d.error = 'worker_lost' and d.state in ('failed', 'retry_wait'))
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
 * Settles attempts whose worker was lost, so that nobody knows what was sent. A delivery that allows only
 * one attempt has failed; one of `regression.detected` waits for its next attempt. Returns the
 * deliveries to enqueue again.
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

/**
 * Fails deliveries that wait for an attempt whose job is among the dead letters: it was lost or broken each
 * time before the attempt began. 1000 at most; the next call takes others. Returns them.
 */
export async function failUnattempted(sql: Transaction) {
  return sql<{ org_id: string; id: string }[]>`
    update deliveries set state = 'failed', error = 'not_attempted', finished_at = now()
    where (org_id, id) in (
      select d.org_id, d.id
      from ${deadJobs(sql, deadLetterName(deliverWebhook.name))} dead
      join deliveries d
        on d.org_id = dead.org_id and d.id = (dead.payload ->> 'delivery_id')::uuid
      where d.state in ('pending', 'retry_wait')
      limit 1000 for update of d skip locked)
    returning org_id, id`
}

export async function listAttempts(sql: Queryable, orgId: string, deliveryId: string) {
  return sql<AttemptRow[]>`
    select number, started_at, duration_ms, status_code, error, response_excerpt
    from delivery_attempts where org_id = ${orgId} and delivery_id = ${deliveryId} order by number`
}
