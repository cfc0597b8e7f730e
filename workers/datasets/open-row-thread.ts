import { Worker } from 'node:worker_threads'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { MadeRows, RawTrace } from './batch-maker.ts'

/** A thread that makes rows, batch after batch. */
export interface RowThread {
  make(traces: readonly RawTrace[]): Promise<MadeRows>
  /** Makes the rows of what the thread held back for traces that might have come. */
  finish(): Promise<MadeRows>
  close(): Promise<void>
}

/** Once the thread has failed, every pending and every later request is rejected with its error. */
export function openRowThread(recipe: Recipe): RowThread {
  const thread = new Worker(new URL('./row-thread.ts', import.meta.url), {
    workerData: recipe,
    // Nearly all garbage is short-lived: a larger nursery lets most of it die there.
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MIB },
  })
  const due: Due[] = []
  let failure: Error | undefined
  thread.on('message', (made: MadeRows) => due.shift()?.resolve(made))
  thread.on('error', (error: Error) => {
    failure = error
    for (const { reject } of due.splice(0)) reject(error)
  })

  function ask(traces: readonly RawTrace[] | null) {
    return new Promise<MadeRows>((resolve, reject) => {
      if (failure) return reject(failure)
      due.push({ resolve, reject })
      thread.postMessage(traces)
    })
  }
  return {
    make: ask,
    finish: () => ask(null),
    async close() {
      await thread.terminate()
    },
  }
}

const NURSERY_MIB = 48

interface Due {
  resolve(made: MadeRows): void
  reject(error: Error): void
}
