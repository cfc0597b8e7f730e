import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { NearScope } from '../../jobs/rules/datasets/near-scope.ts'
import type { Run } from '../runtime/handler.ts'
import { insertNear, readRanks } from './near-rows.ts'
import type { NearSearch } from './near-search.ts'
import type { RowList } from './row-list.ts'

export interface Finding {
  readonly list: Pick<RowList, 'connection'>
  /** Has the signatures of all rows, see `signature-file.ts`. */
  readonly folder: string
  readonly run: Pick<Run, 'signal'>
  /** Called with the share of the work that is done, 0 to 1. */
  readonly onProgress: (part: number) => void
}

/** Fills the table `near` of the row list: which of the rows left are near to better ones. */
export async function findNear({ list, folder, run, onProgress }: Finding, scope: NearScope) {
  const ranked = await readRanks(list.connection)
  await searchInThread({ folder, scope, ...ranked }, run.signal, onProgress)
  await insertNear(list.connection, folder)
}

/** Compares rows in a thread, which ends with the signal. */
export async function searchInThread(
  search: NearSearch,
  signal: AbortSignal,
  onProgress: Finding['onProgress'],
) {
  signal.throwIfAborted()
  const { rows, traces, splits } = search
  const thread = new Worker(new URL('./near-thread.ts', import.meta.url), {
    workerData: search,
    transferList: [rows.buffer, traces.buffer, splits.buffer],
  })
  const end = () => void thread.terminate()
  signal.addEventListener('abort', end)
  thread.on('message', onProgress)
  try {
    // Rejects with the error that ends the thread.
    await once(thread, 'exit')
  } finally {
    signal.removeEventListener('abort', end)
  }
  signal.throwIfAborted()
}
