import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Decides anew on every trace of a manifest. */
export const decideManifest = job(
  'evals.decide',
  shape({ project_id: uuid(), manifest_id: uuid() }),
  {
    policy: 'exclusive',
    retryLimit: 5,
    retryDelaySeconds: 2,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 3600,
    heartbeatSeconds: 20,
  },
)
