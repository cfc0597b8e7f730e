import { job } from './job.ts'
import { shape, text, uuid } from './shape.ts'

/** Looks for the version of an agent from which on a metric was worse. */
export const bisectRegression = job(
  'regression.bisect',
  shape({ project_id: uuid(), agent_name: text(), metric: text() }),
  {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 1800,
    heartbeatSeconds: 30,
  },
)
