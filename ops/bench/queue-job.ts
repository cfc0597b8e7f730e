import { job } from '../../jobs/job.ts'
import { int, shape } from '../../jobs/shape.ts'

/** A job that takes as long as it says. */
export function benchJob(queue: string) {
  return job(
    queue,
    { payload: shape({ ms: int(0, 1e6) }) },
    {
      retryLimit: 2,
      retryDelaySeconds: 1,
      retryDelayMaxSeconds: 60,
      expireInSeconds: 300,
      heartbeatSeconds: 30,
    },
  )
}
