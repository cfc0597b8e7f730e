import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { LineFile } from './shard-files.ts'

/** The lines of a file that another one is made of. */
export interface Copying {
  readonly from: string
  readonly to: string
  /** For each line where it begins, and how many bytes it has. */
  readonly lines: Uint32Array<ArrayBuffer>
}

/** Copies lines in a thread, because that would hold up the event loop of the worker. */
export async function copyInThread(copying: Copying): Promise<LineFile> {
  const thread = new Worker(new URL('./copy-thread.ts', import.meta.url), {
    workerData: copying,
    transferList: [copying.lines.buffer],
  })
  // Rejects with the error that ends the thread.
  const [file] = (await once(thread, 'message')) as [LineFile]
  return file
}
