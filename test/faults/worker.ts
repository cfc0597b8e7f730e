// A worker process to do harm to: FAULT_QUEUES names its queues, FAULT_SLOTS how many jobs of each run
// at once, FAULT_SUPERVISE=1 makes it look after the queues, FAULT_GRACE_MS is its patience. It tells its
// parent when it is ready and, when asked, what has overrun and how much memory it has.
import { readConfig } from '../../ops/config.ts'
import { openWorkerContext } from '../../ops/worker-context.ts'
import { startWorkers } from '../../workers/runtime/start-workers.ts'
import { faultHandlers } from './jobs.ts'

const { FAULT_QUEUES = '', FAULT_SLOTS, FAULT_SUPERVISE, FAULT_GRACE_MS, ...env } = process.env
const config = readConfig(env)
const handlers = faultHandlers
  .filter(({ job }) => FAULT_QUEUES.split(',').includes(job.name))
  .map((handler) => ({ handler, concurrency: Number(FAULT_SLOTS) }))
const slots = handlers.length * Number(FAULT_SLOTS)
const opened = await openWorkerContext(config, config.DATABASE_URL as string, {
  slots,
  supervise: FAULT_SUPERVISE === '1',
})
const pools = await startWorkers(opened.context, opened.boss, handlers)

process.on('message', () => {
  process.send?.({ overruns: pools.overruns(), rssBytes: process.memoryUsage.rss() })
})
process.once('SIGTERM', () => void stop())
process.send?.({ ready: true })

async function stop() {
  process.exitCode = (await pools.stop(Number(FAULT_GRACE_MS))) === 0 ? 0 : 1
  await opened.close()
  process.disconnect?.()
}
