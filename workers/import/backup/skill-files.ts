import { planFiles } from '../../../jobs/rules/skills/version-files.ts'
import type { Mode, VersionFile } from '../../../jobs/rules/skills/version-files.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { listOpenVersions } from '../../../sql/import/restored-skills.ts'
import { exchangeBlobs } from '../../../sql/skills/skill-blobs.ts'
import { listFiles } from '../../../sql/skills/skill-files.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { overLimit } from './ready-rows.ts'
import type { ReadyRows } from './ready-rows.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'

/**
 * The files that their versions may take, whose contents are stored then. A version that was there before the
 * restore takes none: it was scanned, and may have been published, with the files that it has.
 */
export async function readyFiles(
  tx: Transaction,
  { orgId, jobId }: RestoreTarget,
  rows: readonly RestoredEntry[],
): Promise<ReadyRows> {
  const byVersion = Map.groupBy(rows, versionOf)
  const ids = [...byVersion.keys()]
  const open = await listOpenVersions(tx, orgId, jobId, ids)
  const present = Map.groupBy(await listFiles(tx, orgId, ids), ({ version_id }) => version_id)
  const ready: RestoredEntry[] = []
  const faults: LineFault[] = []
  let conflictCount = 0
  for (const [id, some] of byVersion) {
    const files = new Map<string, VersionFile>(
      (present.get(id) ?? []).map((each) => [each.path, each]),
    )
    for (const each of some) {
      const outcome = fit(files, fileOf(each), open.has(id))
      if (outcome === 'conflict') conflictCount++
      else if (outcome === 'new') ready.push(each)
      else if (outcome !== 'skipped') faults.push(overLimit(each, outcome.message))
    }
  }
  await exchangeBlobs(tx, orgId, ready.map(contentOf), [])
  return { ready, faults, conflictCount }
}

/** Puts a file to those of a version where it can be there. */
function fit(files: Map<string, VersionFile>, file: VersionFile, isOpen: boolean) {
  const other = files.get(file.path)
  if (other) return isSame(file, other) ? 'skipped' : 'conflict'
  if (!isOpen) return 'conflict'
  const plan = planFiles([...files.values()], [file])
  if ('fault' in plan) return plan.fault.kind === 'collision' ? 'conflict' : plan.fault
  files.set(file.path, file)
  return 'new'
}

export function versionOf({ row }: RestoredEntry) {
  return row['version_id'] as string
}

function fileOf({ entry: { values } }: RestoredEntry): VersionFile {
  return {
    path: values['path'] as string,
    sha256: Buffer.from(values['sha256'] as string, 'base64'),
    mode: values['mode'] as Mode,
    size_bytes: values['size_bytes'] as number,
    content_type: values['content_type'] as string,
  }
}

function contentOf(each: RestoredEntry) {
  const content = Buffer.from(each.entry.values['content'] as string, 'base64')
  return { sha256: fileOf(each).sha256, content }
}

function isSame(a: VersionFile, b: VersionFile) {
  return a.sha256.equals(b.sha256) && a.mode === b.mode && a.content_type === b.content_type
}
