import { updatePushProgress } from '../../sql/datasets/pushes.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import type { Run } from '../runtime/handler.ts'
import type { PushedFile } from './push-files.ts'

/** Counts, in the job and in the push, what of the files the hub has. */
export function countUploads(
  { sql, orgId, progress }: Run,
  pushId: string,
  files: readonly PushedFile[],
) {
  const sizes = new Map(files.map(({ path, content }) => [path, content.size]))
  const uploaded = new Set<string>()
  let stored = Promise.resolve()
  function store() {
    const total = sizes.size
    const bytes = [...uploaded].reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0)
    const counts = { total, files: uploaded.size, bytes }
    progress({ done: counts.files, total, unit: 'files', note: 'uploading' })
    stored = awaitedLater(stored.then(() => updatePushProgress(sql, orgId, pushId, counts)))
  }
  store()
  return {
    /** The hub has a file. */
    add(path: string) {
      uploaded.add(path)
      store()
    },
    /** The hub has all files. Resolves when that is stored. */
    async complete() {
      for (const path of sizes.keys()) uploaded.add(path)
      store()
      await stored
    },
  }
}
