import { job } from './job.ts'
import { shape, uuid } from './shape.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'

/** Makes a draft the active version, because it runs in production. */
export const activateDraft = job(
  'manifests.activate',
  { payload: shape({ manifest_id: uuid() }) },
  { ...SECONDS_OF_WORK, policy: 'short' },
)
