import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Sends the files of a dataset version to a repository of the hub. */
export const pushDataset = job(
  'dataset.push',
  { payload: shape({ push_id: uuid() }) },
  {
    policy: 'exclusive',
    // For workers that are killed ten times; a hub that is away is tried for about five hours.
    retryLimit: 12,
    retryDelaySeconds: 30,
    retryDelayMaxSeconds: 3600,
    expireInSeconds: 7200,
    heartbeatSeconds: 60,
  },
)
