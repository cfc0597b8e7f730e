// A thread that makes rows and writes their files, because that would hold up the event loop of the worker.
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { openBatchMaker } from './batch-maker.ts'
import type { BatchMaker } from './batch-maker.ts'
import type { RowThreadData, ThreadBatch } from './open-row-thread.ts'
import { openShardFiles } from './shard-files.ts'
import { openSignatureFile } from './signature-file.ts'

if (parentPort) serve(parentPort, openMaker(workerData))

function openMaker({ recipe, folder, shardBytes }: RowThreadData) {
  const files = openShardFiles(folder, shardBytes)
  return openBatchMaker(recipe, { files, signatures: openSignatureFile(folder) })
}

/** Answers traces with their rows, and then with null. Null means that there are no more traces. */
function serve(port: MessagePort, maker: BatchMaker) {
  port.on('message', (batch: ThreadBatch | null) => {
    const making = batch ? maker.make(batch.traces, batch.tools) : maker.finish()
    for (const made of making) port.postMessage(made)
    port.postMessage(null)
  })
}
