import { previewRepair } from '../../jobs/preview-repair.ts'
import { JOB_KEPT_DAYS } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { lockBlobs } from '../skills/skill-blobs.ts'

/**
 * Deletes at most `limit` jobs that ended `JOB_KEPT_DAYS` days ago, with their attempts. A job is kept
 * as long as something that it made still shows it, and that of a repair that did not complete says why.
 */
export async function deleteExpiredJobs(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from jobs where (org_id, id) in (
      select j.org_id, j.id from jobs j
      where j.finished_at < ${jobsKeptSince(sql)}
        and not exists (select from imports i where i.org_id = j.org_id and i.job_id = j.id)
        and not exists (select from dataset_versions v where v.org_id = j.org_id and v.job_id = j.id)
        and not exists (select from dataset_pushes p where p.org_id = j.org_id and p.job_id = j.id)
        and not exists (select from replay_batches b where b.org_id = j.org_id and b.job_id = j.id)
        and not exists (
          select from repair_batches b
          where b.org_id = j.org_id and b.job_id = j.id and b.completed_at is null)
      order by j.finished_at limit ${limit} for update skip locked)`
  return deleted.count
}

/** Deletes at most `limit` attempts, `JOB_KEPT_DAYS` days old, of jobs that are kept. */
export async function deleteExpiredAttempts(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from job_attempts where (org_id, job_id, attempt) in (
      select a.org_id, a.job_id, a.attempt
      from jobs j join job_attempts a on a.org_id = j.org_id and a.job_id = j.id
      where j.finished_at < ${jobsKeptSince(sql)}
      limit ${limit} for update of a skip locked)`
  return deleted.count
}

/**
 * Deletes at most `limit` decisions on single traces of compatibility reports that are 90 days old, with
 * the findings of those that are left with none. The reports stay.
 */
export async function deleteOldEpisodes(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from compat_episodes where (org_id, report_id, started_at, trace_id) in (
      select e.org_id, e.report_id, e.started_at, e.trace_id
      from compat_reports r join compat_episodes e on e.org_id = r.org_id and e.report_id = r.id
      where r.created_at < ${recordsKeptSince(sql)}
      limit ${limit} for update of e skip locked)`
  if (deleted.count < limit) {
    await sql`
      delete from compat_findings f using compat_reports r
      where r.org_id = f.org_id and r.id = f.report_id and r.created_at < ${recordsKeptSince(sql)}
        and not exists (
          select from compat_episodes e where e.org_id = f.org_id and e.report_id = f.report_id)`
  }
  return deleted.count
}

/**
 * Deletes at most `limit` repaired contents of traces, 90 days old, whose manifest was superseded 90 days
 * ago: builds take those for the active one. The repair batches stay, because rows of built versions name
 * them.
 */
export async function deleteOldRevisions(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from trace_revisions where (org_id, project_id, trace_id, target_manifest_id) in (
      select r.org_id, r.project_id, r.trace_id, r.target_manifest_id
      from manifests m
      join trace_revisions r on r.org_id = m.org_id and r.target_manifest_id = m.id
      where m.status = 'superseded' and r.created_at < ${recordsKeptSince(sql)} and not exists (
        select from manifest_activations a
        where a.org_id = m.org_id and a.project_id = m.project_id and a.agent_name = m.agent_name
          and a.previous_manifest_id = m.id and a.activated_at >= ${recordsKeptSince(sql)})
      limit ${limit} for update of r skip locked)`
  return deleted.count
}

/** Deletes at most `limit` failures of single traces in repair batches that are 90 days old. */
export async function deleteOldRepairFailures(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from repair_failures where (org_id, batch_id, trace_id) in (
      select f.org_id, f.batch_id, f.trace_id
      from repair_batches b join repair_failures f on f.org_id = b.org_id and f.batch_id = b.id
      where b.created_at < ${recordsKeptSince(sql)}
      limit ${limit} for update of f skip locked)`
  return deleted.count
}

/** Deletes what at most `limit` previews of repairs, a day old, show of traces, which may be deleted by now. */
export async function deleteOldPreviews(sql: Queryable, limit: number) {
  const emptied = await sql`
    update jobs set result = jsonb_set(result, '{previews}', '[]') where (org_id, id) in (
      select org_id, id from jobs
      where kind = ${previewRepair.name} and finished_at < now() - interval '1 day'
        and result -> 'previews' <> '[]'
      limit ${limit} for update skip locked)`
  return emptied.count
}

/** Deletes at most `limit` webhook deliveries that ended 90 days ago, with their attempts. */
export async function deleteOldDeliveries(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from deliveries where (org_id, id) in (
      select org_id, id from deliveries where finished_at < ${recordsKeptSince(sql)}
      order by finished_at limit ${limit} for update skip locked)`
  return deleted.count
}

/** Deletes at most `limit` pushes of dataset versions that were requested 90 days ago and have ended. */
export async function deleteOldPushes(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from dataset_pushes where (org_id, id) in (
      select p.org_id, p.id from dataset_pushes p
      join jobs j on j.org_id = p.org_id and j.id = p.job_id
      where p.created_at < ${recordsKeptSince(sql)} and j.finished_at is not null
      order by p.created_at limit ${limit} for update of p skip locked)`
  return deleted.count
}

/** Deletes at most `limit` notes that a dataset version became stale 90 days ago. */
export async function deleteOldStaleness(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from dataset_staleness_events where (org_id, id) in (
      select org_id, id from dataset_staleness_events where occurred_at < ${recordsKeptSince(sql)}
      order by occurred_at limit ${limit} for update skip locked)`
  return deleted.count
}

/** Deletes at most `limit` mails, 90 days old. */
export async function deleteOldMails(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from mails where (org_id, id) in (
      select org_id, id from mails where created_at < ${recordsKeptSince(sql)}
      limit ${limit} for update skip locked)`
  return deleted.count
}

/** Deletes at most `limit` notes of skills that installations of clients told 90 days ago and not since. */
export async function deleteOldInstalls(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from client_installs where (org_id, install_id, skill_name) in (
      select org_id, install_id, skill_name from client_installs
      where reported_at < ${recordsKeptSince(sql)}
      order by reported_at limit ${limit} for update skip locked)`
  return deleted.count
}

/**
 * Deletes at most `limit` versions, with their files, of one skill that was deleted 90 days ago, and the
 * skill with the last of them. Its public name stays its own. Undefined when there is no such skill.
 */
export async function deleteOldSkill(tx: Transaction, limit: number): Promise<number | undefined> {
  const [skill] = await tx<{ org_id: string; id: string }[]>`
    select org_id, id from skills where deleted_at < ${recordsKeptSince(tx)}
    order by deleted_at limit 1 for update skip locked`
  if (!skill) return undefined
  const { org_id: orgId, id } = skill
  await lockBlobs(tx, orgId)
  const versions = await tx`
    with due as materialized (
      select id from skill_versions where org_id = ${orgId} and skill_id = ${id} limit ${limit}
    ), released as (
      update skill_blobs b set released_at = clock_timestamp()
      from due join skill_version_files f on f.org_id = ${orgId} and f.version_id = due.id
      where b.org_id = f.org_id and b.sha256 = f.sha256
    )
    delete from skill_versions v using due where v.org_id = ${orgId} and v.id = due.id`
  await tx`
    delete from skills k where k.org_id = ${orgId} and k.id = ${id} and not exists (
      select from skill_versions v where v.org_id = k.org_id and v.skill_id = k.id)`
  return versions.count
}

/** Deletes at most `limit` sessions that are over. */
export async function deleteEndedSessions(sql: Queryable, limit: number) {
  const deleted = await sql`
    delete from sessions where token_hash in (
      select token_hash from sessions where expires_at <= now() limit ${limit} for update skip locked)`
  return deleted.count
}

/** Organizations with uploads that are still stored. */
export async function listUploadOwners(sql: Queryable, limit: number) {
  const rows = await sql<{ org_id: string }[]>`
    select distinct org_id from imports where storage_key is not null limit ${limit}`
  return rows.map(({ org_id }) => org_id)
}

/** Projects of whose score cells something is marked. */
export async function listDirtyProjects(sql: Queryable, limit: number) {
  return sql<{ org_id: string; project_id: string }[]>`
    select distinct org_id, project_id from score_cells_dirty limit ${limit}`
}

function jobsKeptSince(sql: Queryable) {
  return sql`now() - make_interval(days => ${JOB_KEPT_DAYS})`
}

/** What was sent, and what was found of single traces, can be read for 90 days. */
function recordsKeptSince(sql: Queryable) {
  return sql`now() - interval '90 days'`
}
