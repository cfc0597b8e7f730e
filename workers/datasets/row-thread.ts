// A thread that makes rows, because that would hold up the event loop of the worker.
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { openBatchMaker } from './batch-maker.ts'
import type { BatchMaker, RawTrace } from './batch-maker.ts'

if (parentPort) serve(parentPort, openBatchMaker(workerData))

/** Answers traces with their rows. Null means that there are no more traces. */
function serve(port: MessagePort, maker: BatchMaker) {
  port.on('message', (traces: readonly RawTrace[] | null) => {
    const made = traces ? maker.make(traces) : maker.finish()
    port.postMessage(made, [made.lines.buffer])
  })
}
