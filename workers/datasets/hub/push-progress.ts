import { updatePushProgress } from '../../../sql/datasets/pushes.ts'
import { awaitedLater } from '../../runtime/awaited-later.ts'
import type { Run } from '../../runtime/handler.ts'
import type { PushedFile } from './push-files.ts'

/** Counts, in the job and in the push, what of the files the hub has. */
export function countUploads(
  { sql, orgId, progress }: Run,
  pushId: string,
  files: readonly PushedFile[],
) {
  const sizes = new Map(files.map(({ path, content }) => [path, content.size]))
  const total = sizes.size
  let bytes = 0
  let stored = Promise.resolve()
  /** What is left of `sizes` is not uploaded. */
  function take(path: string) {
    bytes += sizes.get(path) ?? 0
    sizes.delete(path)
  }
  function store() {
    const counts = { total, files: total - sizes.size, bytes }
    progress({ done: counts.files, total, unit: 'files', note: 'uploading' })
    stored = awaitedLater(stored.then(() => updatePushProgress(sql, orgId, pushId, counts)))
  }
  store()
  return {
    /** The hub has a file. */
    add(path: string) {
      take(path)
      store()
    },
    /** The hub has all files. Resolves when that is stored. */
    async complete() {
      for (const path of sizes.keys()) take(path)
      store()
      await stored
    },
  }
}
