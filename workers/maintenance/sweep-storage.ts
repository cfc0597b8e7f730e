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
 * not ours. A file that cannot be deleted does not stop the others.
 */
export const sweepStorageHandler = handler(sweepStorage, async (_, run) => {
  const unchangedSince = new Date(run.now().getTime() - KEPT_MS)
  const swept: Swept = { files: 0, failed: 0, part: 0, upload: 0, dataset: 0 }
  let batch: StoredFile[] = []
  try {
    for await (const file of run.storage.list()) {
      run.signal.throwIfAborted()
      if (kindOf(file) && file.changedAt < unchangedSince) batch.push(file)
      if (batch.length < BATCH) continue
      await sweep(run, batch, swept)
      batch = []
    }
  } finally {
    // Also where the rest could not be listed.
    await sweep(run, batch, swept)
    await deleteDeadReservations(run.sql)
  }
  const { files, failed, ...bytes } = swept
  run.log.info({ files, failed, bytes }, 'stored files that nothing needs deleted')
})

async function sweep(run: Run, files: readonly StoredFile[], swept: Swept) {
  for (const file of await findUnneeded(run.sql, files)) {
    run.signal.throwIfAborted()
    // A build that had failed may run again since, and adopt the file that it had stored.
    const [unneeded] = await findUnneeded(run.sql, [file])
    const kind = unneeded && kindOf(unneeded)
    if (!kind || !(await tryToDelete(run, file, swept))) continue
    run.meter.storedBytesSwept(kind, file.bytes)
    swept[kind] += file.bytes
    swept.files++
  }
}

/** @throws StorageAway only while the storage as a whole cannot be used */
async function tryToDelete({ storage, log }: Run, { key, changedAt }: StoredFile, swept: Swept) {
  try {
    return await storage.delete(key, changedAt)
  } catch (err) {
    if (await storage.findFault()) throw err
    // Only the first is logged: there may be thousands with the same cause.
    if (swept.failed++ === 0) log.warn({ key, err }, 'a stored file cannot be deleted')
    return false
  }
}

/** Those, of files that are ours, that no row names. */
async function findUnneeded(sql: Run['sql'], files: readonly StoredFile[]) {
  const of = (kind: Kind) => files.filter((file) => kindOf(file) === kind)
  const uploads = of('upload').map(({ key }) => key)
  const versions = of('dataset').map(({ key }) => {
    const [, org_id = '', version_id = ''] = key.split('/')
    return { key, org_id, version_id }
  })
  const needed = new Set([
    ...(uploads.length > 0 ? await findNeededUploads(sql, uploads) : []),
    ...(versions.length > 0 ? await findNeededVersionFiles(sql, versions) : []),
  ])
  return files.filter(({ key }) => !needed.has(key))
}

/** Undefined for what is not ours: a folder, or a prefix of a bucket, may have files of other programs. */
function kindOf({ key, partOf }: StoredFile): Kind | undefined {
  if (partOf !== undefined) return OURS.some((name) => name.test(partOf)) ? 'part' : undefined
  if (UPLOAD.test(key)) return 'upload'
  return VERSION_FILE.test(key) ? 'dataset' : undefined
}

const UUID = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`
const UPLOAD = new RegExp(`^imports/${UUID}$`)
const VERSION_FILE = new RegExp(String.raw`^datasets/${UUID}/${UUID}/[\da-f]+\.(?:jsonl|parquet)$`)
/** What a look at the storage writes is a part only. */
const OURS = [UPLOAD, VERSION_FILE, /^look$/]
const KEPT_MS = DAY_MS
const BATCH = 500

type Kind = 'part' | 'upload' | 'dataset'

/** Files deleted, files that could not be, and bytes deleted by kind. */
type Swept = Record<'files' | 'failed' | Kind, number>
