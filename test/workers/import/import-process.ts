// A worker process that only imports, in small chunks: `import-traces.test.ts` starts and kills it.
// Arguments: database address, data folder, bytes of a chunk.
import { readConfig } from '../../../ops/config.ts'
import { openWorkerContext } from '../../../ops/context.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { startWorkers } from '../../../workers/runtime/start-workers.ts'

const [url = '', dataDir = '', chunkBytes = ''] = process.argv.slice(2)
const config = readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
const { context, boss } = await openWorkerContext(config, url, { slots: 1, supervise: false })
const handler = importHandler({ chunkBytes: Number(chunkBytes) })
await startWorkers(context, boss, [{ handler, concurrency: 1 }])
