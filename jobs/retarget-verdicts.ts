import { job } from './job.ts'
import { shape, text, uuid } from './shape.ts'

/**
 * Decides anew on the traces of an agent when another of its manifests has become the active one, which
 * all of them are measured against. Ends early when yet another one has.
 */
export const retargetVerdicts = job(
  'compat.retarget',
  shape({ project_id: uuid(), agent_name: text(), manifest_id: uuid() }),
  {
    policy: 'exclusive',
    retryLimit: 5,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 1800,
    heartbeatSeconds: 30,
  },
)
