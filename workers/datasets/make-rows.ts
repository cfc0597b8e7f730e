import type { VersionRow } from '../../sql/datasets/versions.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import type { Run } from '../runtime/handler.ts'
import { buildProgress } from './build-progress.ts'
import type { MadeRows } from './row-output.ts'
import type { RowThread } from './open-row-thread.ts'
import type { SignatureFile } from './signature-file.ts'
import { readContents } from './read-contents.ts'
import type { RowList } from './row-list.ts'
import type { Drop } from './settle-rows.ts'
import type { ShardFiles } from './shard-files.ts'

export interface Making {
  readonly version: VersionRow
  readonly run: Run
  readonly list: RowList
  readonly thread: RowThread
  /** By index in `SPLITS`; the lines of every row made go into them. */
  readonly files: ReadonlyMap<number, ShardFiles>
  /** The signatures of the rows made go into it. */
  readonly signatures: SignatureFile
  readonly drop: Drop
  /** How many traces are listed. */
  readonly total: number
}

/**
 * Makes the rows of all listed traces: pairs task by task, other rows in the order of the traces. While
 * the thread makes rows, those it made before are written.
 */
export async function makeRows(all: Making) {
  const { version, run, list, thread, drop, total } = all
  const order = version.recipe.dataset_type === 'dpo' ? 'attempted, trace_id' : 'trace_id'
  let writing: Promise<unknown> = Promise.resolve()
  let unwritten: MadeRows | undefined
  /** Writes the rows made before once the thread is at work on these. */
  async function next(making: Promise<MadeRows>) {
    const made = awaitedLater(making)
    await writing
    if (unwritten) writing = awaitedLater(take(unwritten, all))
    unwritten = await made
    run.signal.throwIfAborted()
    return unwritten
  }
  let done = 0
  try {
    for await (const batch of readContents(run, version.project_id, list, order)) {
      const { traces, deleted, tools } = batch
      drop('deleted', deleted)
      for (let left = traces; left.length > 0;) {
        const { taken } = await next(thread.make(left, tools))
        left = left.slice(taken)
      }
      done += traces.length + deleted
      run.progress(buildProgress('making rows', done / total, total))
    }
    const last = await next(thread.finish())
    await writing
    await take(last, all)
  } finally {
    // The caller closes the files, of which nothing may open another one then.
    await writing.catch(() => undefined)
  }
  list.flush()
}

async function take(made: MadeRows, { list, files, signatures, drop, thread }: Making) {
  const { lines, rows, dropped } = made
  for (const reason of dropped) drop(reason)
  let at = 0
  for (const row of rows) {
    const line = lines.subarray(at, at + row.length)
    at += row.length
    const file = files.get(row.splitIndex)
    if (!file) throw new TypeError('A row is of a split that the recipe leaves out')
    list.addRow({ ...row, ...(await file.write(line)) })
  }
  await signatures.add(made.signatures)
  thread.release(made)
}
