// A worker process for queue.ts: works off one queue, each job taking as many milliseconds as its
// payload says. Arguments: database address, queue, slots.
import { setTimeout } from 'node:timers/promises'
import { readConfig } from '../config.ts'
import { openWorkerContext } from '../worker-context.ts'
import { handler } from '../../workers/runtime/handler.ts'
import { startWorkers } from '../../workers/runtime/start-workers.ts'
import { benchJob } from './queue-job.ts'

const [url = '', queue = '', slots = '1'] = process.argv.slice(2)
const config = readConfig({ LOG_LEVEL: 'silent' })
const concurrency = Number(slots)
const { context, boss, close } = await openWorkerContext(config, url, {
  slots: concurrency,
  supervise: false,
})
const work = handler(benchJob(queue), async ({ ms }) => {
  await setTimeout(ms)
})
const pools = await startWorkers(context, boss, [{ handler: work, concurrency }])
process.send?.('ready')
process.once('disconnect', () => void pools.stop(5000).then(close))
