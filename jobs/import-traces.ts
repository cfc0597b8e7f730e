import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Works off an upload: parses it line by line and stores its traces and scores. */
export const importTraces = job('import.run', shape({ import_id: uuid() }), {
  policy: 'exclusive',
  retryLimit: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  expireInSeconds: 3600,
  heartbeatSeconds: 30,
})
