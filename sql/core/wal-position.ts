import { onlyRow } from './db.ts'
import type { Queryable } from './db.ts'

/** A place in the log of a cluster. Two can be compared only where cluster and timeline are the same. */
export interface WalPosition {
  /** The identifier of the cluster, which its standbys share. */
  readonly system: string
  /** Of the history of the cluster, which branches where a standby is promoted. */
  readonly timeline: number
  /** Bytes of log before it. */
  readonly bytes: number
}

/**
 * Up to where a primary has written its log: what anybody has been told is committed is before it. With
 * `synchronous_commit = off` that may not be durable yet.
 * @throws on a standby
 */
export async function readWritten(sql: Queryable): Promise<WalPosition> {
  return onlyRow(
    await sql<WalPosition[]>`
      select c.system_identifier::text as system, (l.position - '0/0')::int8 as bytes,
        ('x' || substr(pg_walfile_name(l.position), 1, 8))::bit(32)::int as timeline
      from pg_control_system() c, (select case current_setting('synchronous_commit') when 'off'
        then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end) as l (position)`,
  )
}

/**
 * Up to where a standby shows what its primary wrote; undefined for a server that is none, as one that was
 * promoted. The timeline may be the one before for some minutes after a switch, never a later one.
 */
export async function readReplayed(sql: Queryable): Promise<WalPosition | undefined> {
  const { position, ...replayed } = onlyRow(
    await sql<(WalPosition & { position: string | null })[]>`
      select c.system_identifier::text as system, l.position::text,
        coalesce(l.position - '0/0', 0)::int8 as bytes,
        greatest(p.timeline_id, r.min_recovery_end_timeline) as timeline
      from pg_control_system() c, pg_control_checkpoint() p, pg_control_recovery() r,
        (select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() end) as l (position)`,
  )
  return position === null ? undefined : replayed
}

/** The bytes before a position as PostgreSQL writes it, such as `16/B374D848`; undefined for any other text. */
export function parsePosition(text: string): number | undefined {
  const [, high, low] = /^([0-9a-f]{1,8})\/([0-9a-f]{1,8})$/i.exec(text) ?? []
  if (high === undefined || low === undefined) return undefined
  return Number.parseInt(high, 16) * LOW_BYTES + Number.parseInt(low, 16)
}

/** A position as PostgreSQL writes it. @param bytes below 2^53 */
export function writePosition(bytes: number): string {
  const hex = (half: number) => half.toString(16).toUpperCase()
  return `${hex(Math.floor(bytes / LOW_BYTES))}/${hex(bytes % LOW_BYTES)}`
}

const LOW_BYTES = 2 ** 32
