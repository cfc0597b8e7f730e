import { Worker } from 'node:worker_threads'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { ManifestTools, RawTrace } from './listed-trace.ts'
import type { MadeRows } from './row-output.ts'

/** A thread that makes rows, batch after batch. */
export interface RowThread {
  /** @param tools of the manifests that it was not told of before */
  make(traces: readonly RawTrace[], tools: ManifestTools): Promise<MadeRows>
  /** Makes the rows of what the thread held back for traces that might have come. */
  finish(): Promise<MadeRows>
  /** Gives the buffer of used lines to a later batch: as garbage all of them would be as large as all rows. */
  release(made: MadeRows): void
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
  const spares: ArrayBuffer[] = []
  let failure: Error | undefined
  thread.on('message', (made: MadeRows) => due.shift()?.resolve(made))
  function fail(error: Error) {
    failure ??= error
    for (const { reject } of due.splice(0)) reject(failure)
  }
  thread.on('error', fail)
  thread.on('exit', () => fail(new Error('The thread that makes rows has ended')))

  function ask(batch: ThreadBatch | null) {
    return new Promise<MadeRows>((resolve, reject) => {
      if (failure) return reject(failure)
      due.push({ resolve, reject })
      thread.postMessage(batch, batch?.spare ? [batch.spare] : [])
    })
  }
  return {
    make: (traces, tools) => ask({ traces, tools, spare: spares.pop() }),
    finish: () => ask(null),
    release: ({ lines }) => void spares.push(lines.buffer),
    async close() {
      await thread.terminate()
    },
  }
}

const NURSERY_MIB = 48

/** What the thread is told. */
export interface ThreadBatch {
  readonly traces: readonly RawTrace[]
  readonly tools: ManifestTools
  /** Memory for the lines. */
  readonly spare: ArrayBuffer | undefined
}

interface Due {
  resolve(made: MadeRows): void
  reject(error: Error): void
}
