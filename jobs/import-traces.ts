import { job } from './job.ts'
import { CONTAINERS } from './rules/import/container.ts'
import { FORMAT_NAMES } from './rules/import/detect.ts'
import { anyText, bool, count, oneOf, shape, uuid } from './shape.ts'

/** Works off an upload: parses it line by line and stores its traces and scores. */
export const importTraces = job(
  'import.run',
  {
    payload: shape({ import_id: uuid() }),
    /** All that is before this offset is stored, and nothing behind it. */
    checkpoint: shape(
      {
        /** Bytes before it, after inflation. */
        offset: count(),
        /** Lines before it, or records where they are not one a line. */
        line: count(),
        container: oneOf(...CONTAINERS),
        /** The one format asked for; null takes each record for what it looks like. */
        format: oneOf(null, ...FORMAT_NAMES),
        /** Whether any record so far was JSON. */
        readable: bool(),
        faults: count(),
        /** The run that stored it. */
        attempt: count(),
        /** Whether that run ended with it of its own accord. */
        isSliceEnd: bool(),
      },
      {
        /** Set with the last chunk. `fault`: why the file could not be read, or not to its end. */
        end: shape({}, { fault: shape({ code: anyText(), message: anyText() }) }),
      },
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
