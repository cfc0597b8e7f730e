import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Selects the rows of a dataset version and writes its files. */
export const buildDataset = job(
  'dataset.build',
  { payload: shape({ version_id: uuid() }) },
  {
    policy: 'exclusive',
    retryLimit: 2,
    retryDelaySeconds: 30,
    retryDelayMaxSeconds: 600,
    expireInSeconds: 14_400,
    heartbeatSeconds: 60,
  },
)
