// A thread that compares rows, because that would hold up the event loop of the worker.
import { parentPort, workerData } from 'node:worker_threads'
import { searchNear } from './near-search.ts'

if (parentPort) {
  const port = parentPort
  searchNear(workerData, (part) => port.postMessage(part))
}
