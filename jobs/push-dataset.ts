import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Sends the files of a dataset version to a repository of the hub. */
export const pushDataset = job(
  'dataset.push',
  { payload: shape({ push_id: uuid() }) },
  {
    policy: 'exclusive',
    retryLimit: 8,
    retryDelaySeconds: 30,
    retryDelayMaxSeconds: 3600,
    expireInSeconds: 7200,
    heartbeatSeconds: 60,
  },
)
