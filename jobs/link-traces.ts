import { job } from './job.ts'
import { shape, uuid } from './shape.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'

/** Ties traces to the manifest that they named by its hash before it was registered. */
export const linkTraces = job(
  'manifests.link',
  { payload: shape({ manifest_id: uuid() }) },
  { ...SECONDS_OF_WORK, policy: 'short' },
)
