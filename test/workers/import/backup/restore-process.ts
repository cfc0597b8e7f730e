// A worker process that only restores, in small chunks: tests start and kill it.
// Arguments: database address, data folder, bytes of a chunk.
import { readConfig } from '../../../../ops/config.ts'
import { openWorkerContext } from '../../../../ops/worker-context.ts'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { startWorkers } from '../../../../workers/runtime/start-workers.ts'

const [url = '', dataDir = '', bytes = ''] = process.argv.slice(2)
const config = readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
const { context, boss } = await openWorkerContext(config, url, { slots: 1, supervise: false })
const handler = restoreHandler({ chunkBytes: Number(bytes), pageBytes: Number(bytes) })
await startWorkers(context, boss, [{ handler, concurrency: 1 }])
