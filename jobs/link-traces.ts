import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Ties traces to the manifest that they named by its hash before it was registered. */
export const linkTraces = job('manifests.link', shape({ manifest_id: uuid() }), {
  policy: 'short',
  retryLimit: 5,
  retryDelaySeconds: 2,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 300,
  heartbeatSeconds: 20,
})
