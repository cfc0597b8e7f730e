import { Worker } from 'node:worker_threads'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { ManifestTools, RawTrace } from './listed-trace.ts'
import type { MadeRows } from './row-output.ts'

/** A thread that makes rows and writes their files, batch after batch. */
export interface RowThread {
  /** @param tools of the manifests that it was not told of before */
  make(traces: readonly RawTrace[], tools: ManifestTools): Promise<void>
  /** Makes the rows of what the thread held back for traces that might have come, and completes the files. */
  finish(): Promise<void>
  close(): Promise<void>
}

export interface RowThreadData {
  readonly recipe: Recipe
  /** Where the files are written. */
  readonly folder: string
  /** The size that all files reach, except the last of a split. */
  readonly shardBytes: number
}

/**
 * Once the thread has failed or was ended by the signal, every pending and every later request is rejected.
 * @param onMade called with what was made, before the request for it is resolved; an error it throws is as one
 * of the thread
 */
export function openRowThread(
  data: RowThreadData,
  signal: AbortSignal,
  onMade: (made: MadeRows) => void,
): RowThread {
  const thread = new Worker(new URL('./row-thread.ts', import.meta.url), {
    workerData: data,
    // Nearly all garbage is short-lived: a larger nursery lets most of it die there.
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MIB },
  })
  const due: Due[] = []
  let failure: Error | undefined
  function fail(error: Error) {
    failure ??= error
    for (const { reject } of due.splice(0)) reject(failure)
  }
  const end = () => void thread.terminate()
  signal.addEventListener('abort', end)
  thread.on('error', fail)
  thread.on('exit', () => fail(new Error('The thread that makes rows has ended')))
  thread.on('message', (made: MadeRows | null) => {
    if (failure) return
    try {
      if (made) onMade(made)
      else due.shift()?.resolve()
    } catch (error) {
      fail(error as Error)
    }
  })

  function ask(batch: ThreadBatch | null) {
    return new Promise<void>((resolve, reject) => {
      if (failure) return reject(failure)
      due.push({ resolve, reject })
      thread.postMessage(batch)
    })
  }
  return {
    make: (traces, tools) => ask({ traces, tools }),
    finish: () => ask(null),
    async close() {
      signal.removeEventListener('abort', end)
      await thread.terminate()
    },
  }
}

const NURSERY_MIB = 48

/** What the thread is told. */
export interface ThreadBatch {
  readonly traces: readonly RawTrace[]
  readonly tools: ManifestTools
}

interface Due {
  resolve(): void
  reject(error: Error): void
}
