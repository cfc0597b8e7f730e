import type { VersionRow } from '../../sql/datasets/versions.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import type { Run } from '../runtime/handler.ts'
import { buildProgress } from './build-progress.ts'
import type { RowThread } from './open-row-thread.ts'
import { readContents } from './read-contents.ts'
import type { RowList } from './row-list.ts'
import type { Drop } from './settle-rows.ts'

export interface Making {
  readonly version: VersionRow
  readonly run: Run
  readonly list: RowList
  readonly thread: RowThread
  readonly drop: Drop
  /** How many traces are listed. */
  readonly total: number
}

/**
 * Has the rows of all listed traces made: pairs task by task, other rows in the order of the traces. The
 * thread has the next traces before it is done with those before.
 */
export async function makeRows({ version, run, list, thread, drop, total }: Making) {
  const order = version.recipe.dataset_type === 'dpo' ? 'attempted, trace_id' : 'trace_id'
  let making: Promise<void> = Promise.resolve()
  let done = 0
  for await (const batch of readContents(run, version.project_id, list, order)) {
    const { traces, deleted, tools } = batch
    drop('deleted', deleted)
    const next = awaitedLater(thread.make(traces, tools))
    await making
    making = next
    run.signal.throwIfAborted()
    run.progress(buildProgress('making rows', done / total, total))
    done += traces.length + deleted
  }
  await making
  await thread.finish()
}
