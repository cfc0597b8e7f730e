// A thread of its own that makes rows: what it does would hold up the event loop of the worker.
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { Recipe } from '../../jobs/rules/dataset-recipe.ts'
import { openBatchMaker } from './batch-maker.ts'
import type { BatchMaker, RawTrace } from './batch-maker.ts'

if (parentPort) serve(parentPort, openBatchMaker(workerData as Recipe))

/** Answers traces with their rows; null says that there are no more. */
function serve(port: MessagePort, maker: BatchMaker) {
  port.on('message', (traces: readonly RawTrace[] | null) => {
    const made = traces ? maker.make(traces) : maker.finish()
    port.postMessage(made, [made.lines.buffer])
  })
}
