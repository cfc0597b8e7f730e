import { DAY_MS } from '../../jobs/rules/core/time.ts'
import type { StoredFile } from '../../jobs/storage.ts'
import { sweepStorage } from '../../jobs/sweep-storage.ts'
import { deleteDeadReservations } from '../../sql/import/upload-reservations.ts'
import { findNeededUploads, findNeededVersionFiles } from '../../sql/jobs/stored-files.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'

/**
 * Deletes files that no row names: parts whose process was killed, uploads of imports that have ended,
 * and files of versions that were deleted or never became ready. Files appear before their rows, so one
 * is left alone until a day after its last change, which is longer than any write takes and than clocks
 * differ. It is deleted only if it has not changed since it was looked at. Files of other names are
 * not ours.
 */
export const sweepStorageHandler = handler(sweepStorage, async (_, run) => {
  const unchangedSince = new Date(run.now().getTime() - KEPT_MS)
  const swept: Swept = { files: 0, part: 0, upload: 0, dataset: 0 }
  let batch: StoredFile[] = []
  for await (const file of run.storage.list()) {
    run.signal.throwIfAborted()
    if (file.changedAt < unchangedSince) batch.push(file)
    if (batch.length < BATCH) continue
    await sweep(run, batch, swept)
    batch = []
  }
  await sweep(run, batch, swept)
  await deleteDeadReservations(run.sql)
  const { files, ...bytes } = swept
  run.log.info({ files, bytes }, 'stored files that nothing needs deleted')
})

async function sweep({ sql, storage, meter }: Run, files: readonly StoredFile[], swept: Swept) {
  const parts = files.filter(({ isPart }) => isPart)
  const uploads = files.filter(({ isPart, key }) => !isPart && UPLOAD.test(key))
  const versions = files.flatMap((file) => {
    const ids = file.isPart ? undefined : VERSION_FILE.exec(file.key)?.groups
    return ids ? [{ ...file, org_id: ids['org'] ?? '', version_id: ids['version'] ?? '' }] : []
  })
  const needed = new Set([
    ...(await findNeededUploads(
      sql,
      uploads.map(({ key }) => key),
    )),
    ...(await findNeededVersionFiles(sql, versions)),
  ])
  for (const [kind, found] of [
    ['part', parts],
    ['upload', uploads],
    ['dataset', versions],
  ] as const) {
    for (const { key, bytes, changedAt } of found) {
      if (needed.has(key)) continue
      await storage.delete(key, changedAt)
      meter.storedBytesSwept(kind, bytes)
      swept[kind] += bytes
      swept.files++
    }
  }
}

const UUID = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`
const UPLOAD = new RegExp(`^imports/${UUID}$`)
const VERSION_FILE = new RegExp(`^datasets/(?<org>${UUID})/(?<version>${UUID})/[^/]+$`)
const KEPT_MS = DAY_MS
const BATCH = 500

/** Files, and bytes by kind. */
type Swept = Record<'files' | 'part' | 'upload' | 'dataset', number>
