import { order } from '../../jobs/rules/core/order.ts'
import { LIVE_KEYS, ORGANIZATION_CEILING, PLANS, PLAN_RATES } from '../../jobs/rules/org/plan.ts'
import type { Plan } from '../../jobs/rules/org/plan.ts'
import { onlyRow } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'
import { countUpTo, MAX_COUNTED } from '../core/pages.ts'

export interface ApiKeyRow {
  id: string
  org_id: string
  key_prefix: string
  label: string
  scope: 'global' | 'workspace' | 'project'
  workspace_id: string | null
  project_id: string | null
  permissions: 'read' | 'write' | 'admin'
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  created_at: Date
}

/** Who a credential stands for, and whether both its token buckets admit one more request. */
export interface Admission {
  id: string
  org_id: string
  org_name: string
  plan: Plan
  label: string
  scope: ApiKeyRow['scope']
  permissions: ApiKeyRow['permissions']
  /** The session that acts as the key; both null for the key itself. */
  session_id: string | null
  session_expires_at: Date | null
  /** For project scope, the project's workspace. */
  workspace_id: string | null
  project_id: string | null
  revoked: boolean
  expired: boolean
  /** Null for a key that is revoked or expired, like all members below. */
  admitted: boolean | null
  /** Requests a minute of this key, or of this session. */
  per_minute: number
  /** Requests that both buckets would let pass now. */
  remaining: number
  /** Until one passes again; 0 when this one did. */
  wait_seconds: number
  /** Until both buckets are full again. */
  full_seconds: number
}

/** The SHA-256 of a key, or of a session's token. */
export interface CredentialHash {
  readonly hash: Buffer
  readonly isSession: boolean
}

/**
 * For each credential the key it is, or its session's, taking one token of the bucket of that key or session
 * and one of its organization's. Asked at every request and never cached, so that a revocation holds at once in
 * every process. Undefined for what is unknown or ended, and for every key of a suspended organization.
 */
export async function admitKeys(sql: Queryable, credentials: readonly CredentialHash[]) {
  // Buckets are locked in one order, so that two processes that admit the same keys cannot deadlock:
  // those of keys and sessions by hash, then those of organizations by id.
  const asked = credentials
    .map(({ hash, isSession }, i) => ({ hash: hash.toString('hex'), isSession, i }))
    .sort((a, b) => order(a.hash, b.hash))
  const rows = await sql<(Admission & { i: number })[]>`
    with keys as materialized (
      select c.*, a.*, row_number() over (partition by a.org_id, a.plan, a.admitted order by c.i) as turn
      from unnest(${asked.map(({ hash }) => hash)}::text[],
        ${asked.map(({ isSession }) => Number(isSession))}::int[], ${asked.map(({ i }) => i)}::int[])
        as c (hash, is_session, i),
      admit_key(decode(c.hash, 'hex'), c.is_session = 1, ${PLANS}::text[],
        ${RATES}::int[], ${BURSTS}::int[]) as a
    ), organizations as materialized (
      select g.org_id, g.plan, t.*
      from (
        select org_id, plan, count(*) as asked from keys where admitted
        group by org_id, plan order by org_id
      ) as g,
      take_organization_tokens(g.org_id, g.plan, g.asked, ${PLANS}::text[],
        ${RATES}::int[], ${BURSTS}::int[], ${ORGANIZATION_CEILING}) as t
    ), found as materialized (
      -- Afterwards, because a join might change the order in which buckets are locked.
      select k.*, s.id as session_id, s.expires_at as session_expires_at
      from keys k left join sessions s on k.is_session = 1 and s.token_hash = decode(k.hash, 'hex')
    ), refused as materialized (
      select k.i, return_key_token(k.org_id, coalesce(k.session_id, k.id), k.per_minute)
      from found k join organizations o using (org_id, plan)
      where k.admitted and k.turn > o.taken
    )
    select k.i, k.id, k.org_id, k.org_name, k.plan, k.label, k.scope, k.permissions, k.session_id,
      k.session_expires_at, k.workspace_id, k.project_id, k.revoked, k.expired, k.per_minute,
      k.admitted and r.i is null as admitted,
      case when r.i is null then least(k.remaining, o.left_over + o.taken - k.turn)::int else 0 end
        as remaining,
      -- A token that has come since is for the next request.
      case k.admitted and r.i is null when true then 0
        when false then greatest(k.wait_seconds, o.wait_seconds, 0.001) end as wait_seconds,
      greatest(k.full_seconds, o.full_seconds) as full_seconds
    from found k
    left join refused r using (i)
    left join organizations o on k.admitted and o.org_id = k.org_id and o.plan = k.plan`
  const admissions: (Admission | undefined)[] = credentials.map(() => undefined)
  for (const { i, ...admission } of rows) admissions[i] = admission
  return admissions
}

/** The key of a hash, with its organization's plan and, for project scope, the project's workspace. */
export async function findKeyByHash(sql: Queryable, hash: Buffer) {
  const [row] = await sql<(ApiKeyRow & { plan: Plan })[]>`
    select k.id, k.org_id, k.scope, k.permissions, k.project_id, k.expires_at, k.revoked_at,
      coalesce(k.workspace_id, p.workspace_id) as workspace_id, o.plan, k.last_used_at
    from api_keys k
    join organizations o on o.id = k.org_id
    left join projects p on p.org_id = k.org_id and p.id = k.project_id
    where k.key_hash = ${hash}`
  return row
}

/**
 * Why an organization gets no further key; undefined where it does. Others who ask wait until the
 * transaction ends, so that it cannot pass its limit by making keys at once.
 */
export async function refuseKey(tx: Queryable, orgId: string): Promise<string | undefined> {
  const { plan, is_deleted } = onlyRow(
    await tx<{ plan: Plan; is_deleted: boolean }[]>`
    select plan_in_force(plan, grace_period_ends) as plan,
      deletion_requested_at is not null as is_deleted
    from organizations where id = ${orgId} for no key update`,
  )
  if (is_deleted) return 'The organization is being deleted'
  // A statement of its own: it has to see what was committed while the one above waited.
  const { live } = onlyRow(
    await tx<{ live: number }[]>`
    select count(*)::int as live from api_keys
    where org_id = ${orgId} and revoked_at is null and (expires_at is null or expires_at > now())`,
  )
  if (live < LIVE_KEYS[plan]) return undefined
  return `An organization of plan ${plan} has at most ${LIVE_KEYS[plan]} live API keys: revoke one first`
}

export async function insertKey(
  sql: Queryable,
  key: Omit<ApiKeyRow, 'revoked_at' | 'last_used_at' | 'created_at'> & { key_hash: Buffer },
) {
  const { created_at } = onlyRow(
    await sql<{ created_at: Date }[]>`
    insert into api_keys (org_id, id, key_hash, key_prefix, label, scope, workspace_id, project_id,
      permissions, expires_at)
    values (${key.org_id}, ${key.id}, ${key.key_hash}, ${key.key_prefix}, ${key.label}, ${key.scope},
      ${key.workspace_id}, ${key.project_id}, ${key.permissions}, ${key.expires_at})
    returning created_at`,
  )
  return created_at
}

/**
 * Newest first, revoked ones left out; an organization has few. `last_used_at` is that of a bucket, of the
 * key or of its sessions, when that is later than what `saveKeyUses` copied.
 */
export async function listKeys(
  sql: Queryable,
  orgId: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const valid = sql`api_keys k where k.org_id = ${orgId} and k.revoked_at is null`
  const [rows, total] = await Promise.all([
    sql<ApiKeyRow[]>`
    select k.id, k.org_id, k.key_prefix, k.label, k.scope, k.workspace_id, k.project_id,
      k.permissions, k.expires_at, k.revoked_at, greatest(k.last_used_at, u.last_used_at) as last_used_at,
      k.created_at
    from api_keys k
    left join lateral (
      select max(b.last_used_at) as last_used_at from rate_buckets b
      where b.org_id = k.org_id and b.key_id in (
        select k.id union all
        select s.id from sessions s where s.org_id = k.org_id and s.key_id = k.id)
    ) as u on true
    where k.org_id = ${orgId} and k.revoked_at is null
    order by k.created_at desc, k.id desc limit ${limit} offset ${offset}`,
    countUpTo(sql, MAX_COUNTED, valid),
  ])
  return { rows, total }
}

/**
 * The time of the revocation and the key's label, or undefined when there is no such key that is not
 * revoked yet.
 */
export async function revokeKey(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<{ revoked_at: Date; label: string }[]>`
    update api_keys set revoked_at = now()
    where org_id = ${orgId} and id = ${id} and revoked_at is null
    returning revoked_at, label`
  return row
}

/** The organization a key belongs to. For the operator, who names a key by its id alone. */
export async function findKeyOrganization(sql: Queryable, id: string) {
  const [row] = await sql<{ org_id: string }[]>`select org_id from api_keys where id = ${id}`
  return row?.org_id
}

/** Copies the last uses of all keys, by sessions too, from the token buckets, which a crash empties. */
export async function saveKeyUses(sql: Queryable) {
  await sql`
    update api_keys k set last_used_at = u.last_used_at
    from (
      select b.org_id, coalesce(s.key_id, b.key_id) as key_id, max(b.last_used_at) as last_used_at
      from rate_buckets b left join sessions s on s.org_id = b.org_id and s.id = b.key_id
      group by 1, 2
    ) as u
    where u.org_id = k.org_id and u.key_id = k.id
      and (k.last_used_at is null or k.last_used_at < u.last_used_at)`
}

/** Deletes at most `limit` token buckets of sessions that are over. */
export async function deleteEndedBuckets(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from rate_buckets where (org_id, key_id) in (
      select b.org_id, b.key_id from rate_buckets b
      where not exists (select from api_keys k where k.org_id = b.org_id and k.id = b.key_id)
        and not exists (
          select from sessions s where s.org_id = b.org_id and s.id = b.key_id)
      limit ${limit} for update skip locked)`
  return deleted.count
}

const RATES = PLANS.map((plan) => PLAN_RATES[plan].perMinute)
const BURSTS = PLANS.map((plan) => PLAN_RATES[plan].burst)
