import { createHash } from 'node:crypto'
import type { CompatDecision } from '../../jobs/rules/manifests/compat-decision.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo } from '../core/pages.ts'

/** A trace in a report. */
export interface Episode {
  readonly trace_id: string
  readonly started_at: Date
  readonly decision: CompatDecision
}

export type EpisodeRow = CompatDecision & Pick<Episode, 'trace_id' | 'started_at'>

/**
 * Replaces episodes that exist. Decisions that are the same object are sent once. No key binds an episode to
 * its finding.
 */
export async function upsertEpisodes(
  tx: Transaction,
  orgId: string,
  reportId: string,
  episodes: readonly Episode[],
) {
  const findings = new Map<CompatDecision, string>()
  const findingIds = episodes.map(({ decision }) => {
    const id = findings.get(decision) ?? findingId(decision)
    findings.set(decision, id)
    return id
  })
  const distinct = new Map([...findings].map(([decision, id]) => [id, { id, ...decision }]))
  await tx`
    insert into compat_findings (org_id, report_id, id, verdict, needs_review, reasons, repair_rules)
    select ${orgId}, ${reportId}, id, verdict, needs_review, reasons, repair_rules
    from json_populate_recordset(null::compat_findings,
      ${jsonText([...distinct.values()])}::text::json)
    on conflict do nothing`
  await tx`
    insert into compat_episodes (org_id, report_id, started_at, trace_id, finding_id)
    select ${orgId}, ${reportId}, started_at::timestamptz, trace_id, finding_id
    from unnest(${episodes.map((e) => e.started_at.toISOString())}::text[],
      ${episodes.map((e) => e.trace_id)}::text[],
      ${findingIds}::uuid[])
      as e (started_at, trace_id, finding_id)
    on conflict (org_id, report_id, started_at, trace_id)
      do update set finding_id = excluded.finding_id`
}

export interface EpisodeFilter {
  readonly orgId: string
  readonly reportId: string
  readonly verdict?: string | undefined
}

/** Newest first. */
export async function listEpisodes(
  sql: Queryable,
  filter: EpisodeFilter,
  page: {
    limit: number
    offset: number
    before?: { started_at: Date; trace_id: string } | undefined
  },
) {
  const { before } = page
  return sql<EpisodeRow[]>`
    select e.trace_id, e.started_at, f.verdict, f.needs_review, f.reasons, f.repair_rules
    from ${matching(sql, filter)}
      ${
        before
          ? sql`and (e.started_at, e.trace_id) < (${before.started_at}, ${before.trace_id})`
          : sql``
      }
    order by e.started_at desc, e.trace_id desc limit ${page.limit} offset ${page.offset}`
}

export async function countEpisodes(sql: Queryable, filter: EpisodeFilter, limit: number) {
  return countUpTo(sql, limit, matching(sql, filter))
}

function matching(sql: Queryable, { orgId, reportId, verdict }: EpisodeFilter) {
  return sql`compat_episodes e
    join compat_findings f on f.org_id = e.org_id and f.report_id = e.report_id
      and f.id = e.finding_id
    where e.org_id = ${orgId} and e.report_id = ${reportId}
      ${verdict ? sql`and f.verdict = ${verdict}` : sql``}`
}

/** An id derived from the decision, in the form of a UUID: equal decisions have equal ids. */
function findingId(decision: CompatDecision) {
  return createHash('sha256').update(JSON.stringify(decision)).digest('hex').slice(0, 32)
}
