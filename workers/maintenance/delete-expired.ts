import { deleteExpired } from '../../jobs/delete-expired.ts'
import { partsGone } from '../../jobs/import-cursor.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { deleteEndedBuckets } from '../../sql/access/api-keys.ts'
import { deleteOldIdempotencyKeys } from '../../sql/core/idempotency-keys.ts'
import { deleteOrphanedRows, listOrphanedRows } from '../../sql/datasets/rows.ts'
import { deleteParts, endLeftImport, listLeftStaging } from '../../sql/import/import-parts.ts'
import { findImport, forgetLeftUpload, listLeftUploads } from '../../sql/import/imports.ts'
import {
  deleteEndedSessions,
  deleteExpiredAttempts,
  deleteExpiredJobs,
  deleteOldDeliveries,
  deleteOldEpisodes,
  deleteOldInstalls,
  deleteOldMails,
  deleteOldPreviews,
  deleteOldPushes,
  deleteOldRepairFailures,
  deleteOldRevisions,
  deleteOldSkill,
  deleteOldStaleness,
  listUploadOwners,
} from '../../sql/jobs/retention.ts'
import { expireTasks } from '../../sql/replay/replay-tasks.ts'
import { deleteReleasedBlobs } from '../../sql/skills/skill-blobs.ts'
import { deleteEmptyCounts } from '../../sql/traces/count-changes.ts'
import { followRestore } from '../../sql/transactions/follow-restore.ts'
import { deleteOldPaymentEvents } from '../../sql/webhooks/payments.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { keepPeriods } from './keep-periods.ts'
import { requestRetentions } from './request-retentions.ts'

export const deleteExpiredHandler = handler(deleteExpired, async (_, run) => {
  const { sql } = run
  const deleted = {
    jobs: await inChunks(run, () => deleteExpiredJobs(sql, CHUNK)),
    attempts: await inChunks(run, () => deleteExpiredAttempts(sql, CHUNK)),
    idempotency_keys: await inChunks(run, () => deleteOldIdempotencyKeys(sql, CHUNK)),
    sessions: await inChunks(run, () => deleteEndedSessions(sql, CHUNK)),
    buckets: await inChunks(run, () => deleteEndedBuckets(sql, CHUNK)),
    episodes: await inChunks(run, () => deleteOldEpisodes(sql, CHUNK)),
    revisions: await inChunks(run, () => deleteOldRevisions(sql, CHUNK)),
    repair_failures: await inChunks(run, () => deleteOldRepairFailures(sql, CHUNK)),
    previews: await inChunks(run, () => deleteOldPreviews(sql, CHUNK)),
    dataset_pushes: await inChunks(run, () => deleteOldPushes(sql, CHUNK)),
    dataset_staleness: await inChunks(run, () => deleteOldStaleness(sql, CHUNK)),
    deliveries: await inChunks(run, () => deleteOldDeliveries(sql, CHUNK)),
    payment_events: await inChunks(run, () => deleteOldPaymentEvents(sql, CHUNK)),
    replay_tasks: await inChunks(run, () => expireTasks(sql, CHUNK)),
    mails: await inChunks(run, () => deleteOldMails(sql, CHUNK)),
    client_installs: await inChunks(run, () => deleteOldInstalls(sql, CHUNK)),
    counts: await inChunks(run, () => deleteEmptyCounts(sql, CHUNK)),
    skill_versions: await deleteOldVersions(run),
    skill_blobs: await inChunks(run, () => deleteReleasedBlobs(sql, CHUNK)),
    uploads: await deleteLeftUploads(run),
    import_parts: await deleteLeftParts(run),
    retentions: await requestRetentions(run),
  }
  run.log.info(deleted, 'expired rows deleted')
  await keepPeriods(run)
  // Last, because they may be hundreds of millions: what follows would wait for them.
  await deleteLeftRows(run)
})

/** Each chunk in a transaction of its own, so that nobody waits long for a lock or for vacuum. */
async function inChunks({ signal }: Run, deleteChunk: () => Promise<number>) {
  for (let total = 0; ;) {
    signal.throwIfAborted()
    const count = await deleteChunk()
    total += count
    if (count < CHUNK) return total
  }
}

async function deleteOldVersions({ sql, signal }: Run) {
  for (let total = 0; ;) {
    signal.throwIfAborted()
    const count = await sql.begin((tx: Transaction) => deleteOldSkill(tx, VERSIONS_TOGETHER))
    if (count === undefined) return total
    total += count
  }
}

async function deleteLeftRows({ sql, signal, log }: Run) {
  const versions = await listOrphanedRows(sql, CHUNK)
  for (const rows of versions) await deleteOrphanedRows(sql, rows, signal)
  log.info({ versions: versions.length }, 'rows of versions that nobody needs deleted')
}

async function deleteLeftUploads({ sql, storage, signal }: Run) {
  let count = 0
  for (const orgId of await listUploadOwners(sql, CHUNK)) {
    for (const { id, storage_key } of await listLeftUploads(sql, orgId, CHUNK)) {
      signal.throwIfAborted()
      // In this order: a file without a row is swept, a row without its file is a fault.
      if (!(await forgetLeftUpload(sql, orgId, id))) continue
      await storage.delete(storage_key)
      count++
    }
  }
  return count
}

/** Rows of imports that will not put them together any more. What a restore stored before its end is followed up. */
async function deleteLeftParts(run: Run) {
  let count = 0
  for (const { org_id: orgId, import_id: importId } of await listLeftStaging(run.sql, CHUNK)) {
    const key = { orgId, importId }
    const item = await findImport(run.sql, orgId, importId)
    if (item && !(await endLeftImport(run.sql, key, partsGone))) continue
    if (item?.source === 'backup') await followRestore(run.sql, run.queue, item)
    for (let deleted = 1; deleted > 0; count += deleted) {
      run.signal.throwIfAborted()
      deleted = await deleteParts(run.sql, key, PARTS_TOGETHER)
    }
  }
  return count
}

const CHUNK = 1000
/** Each of them has at most 200 files. */
const VERSIONS_TOGETHER = 100
const PARTS_TOGETHER = 10_000
