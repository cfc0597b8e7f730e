// A thread that makes rows, because that would hold up the event loop of the worker.
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { openBatchMaker } from './batch-maker.ts'
import type { BatchMaker } from './batch-maker.ts'
import type { ThreadBatch } from './open-row-thread.ts'

if (parentPort) serve(parentPort, openBatchMaker(workerData))

/** Answers traces with their rows. Null means that there are no more traces. */
function serve(port: MessagePort, maker: BatchMaker) {
  port.on('message', (batch: ThreadBatch | null) => {
    const made = batch ? maker.make(batch.traces, batch.tools, batch.spare) : maker.finish()
    port.postMessage(made, [made.lines.buffer, made.signatures.buffer])
  })
}
