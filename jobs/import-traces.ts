import { cursorMembers, stagingMembers } from './import-cursor.ts'
import { job } from './job.ts'
import { CONTAINERS } from './rules/import/container.ts'
import { FORMAT_NAMES } from './rules/import/detect.ts'
import { bool, count, oneOf, shape, uuid } from './shape.ts'

/**
 * Works off an upload: parses it line by line and stores its traces and scores, then puts together the
 * traces that came in pieces.
 */
export const importTraces = job(
  'import.run',
  {
    payload: shape({ import_id: uuid() }),
    /** All that is before this offset is stored, and nothing behind it. */
    checkpoint: shape(
      {
        ...cursorMembers,
        /** Bytes before it, after inflation. */
        offset: count(),
        container: oneOf(...CONTAINERS),
        /** The one format asked for; null takes each record for what it looks like. */
        format: oneOf(null, ...FORMAT_NAMES),
        /** Whether any record so far was JSON. */
        readable: bool(),
        faults: count(),
      },
      stagingMembers,
    ),
  },
  {
    policy: 'exclusive',
    retryLimit: 8,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 600,
    expireInSeconds: 3600,
    heartbeatSeconds: 30,
  },
)
