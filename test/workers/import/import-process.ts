// A worker process that only imports, from files and from platforms on loopback, in small chunks and pages: tests start
// and kill it.
// Arguments: database address, data folder, bytes of a chunk and of a page, and the number of the checkpoint at whose
// second step it halts, if any.
import { readConfig } from '../../../ops/config.ts'
import { openWorkerContext } from '../../../ops/worker-context.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { pullHandler } from '../../../workers/import/pull-traces.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { startWorkers } from '../../../workers/runtime/start-workers.ts'

/** As many at once as there are doubles of platforms. */
const PULLS = 5
const [url = '', dataDir = '', bytes = '', halt = ''] = process.argv.slice(2)
const config = readConfig({
  DATA_DIR: dataDir,
  LOG_LEVEL: 'silent',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
})
const { context, boss } = await openWorkerContext(config, url, {
  slots: 1 + PULLS,
  supervise: false,
})
const options = { chunkBytes: Number(bytes), pageBytes: Number(bytes) }
const { job, work } = importHandler(options)
const countIn = (checkpoint: object = {}) =>
  Number((checkpoint as Readonly<Record<string, unknown>>)[halt] ?? -1)
const halting = handler(job, (payload, run) => {
  let steps = 0
  return work(payload, {
    ...run,
    async checkpoint(tx, progress, checkpoint) {
      const grows = countIn(checkpoint) > countIn(run.checkpointed)
      if (grows && steps++ > 0) await new Promise(() => undefined)
      return run.checkpoint(tx, progress, checkpoint)
    },
  })
})
await startWorkers(context, boss, [
  { handler: halting, concurrency: 1 },
  { handler: pullHandler(options), concurrency: PULLS },
])
