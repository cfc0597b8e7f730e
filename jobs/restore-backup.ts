import { job } from './job.ts'
import { anyText, bool, count, oneOf, recordOf, shape, uuid } from './shape.ts'

const fault = shape({ code: anyText(), message: anyText() })

/**
 * Takes a backup of an organization back: stores what is not there yet, compares the whole file with its
 * last line, and then has everything found in the traces that no backup has.
 */
export const restoreBackup = job(
  'import.restore',
  {
    /** `by_operator`: asked for by the operator, so that it may restore everything and counts against no quota. */
    payload: shape({ import_id: uuid() }, { by_operator: bool() }),
    /** All that is before this offset is stored, and nothing behind it. */
    checkpoint: shape(
      {
        /** Bytes before it, after inflation. */
        offset: count(),
        line: count(),
        /** Of the next chunk. */
        chunk_no: count(),
        /** How many lines of each kind came. */
        counts: recordOf(count()),
        /** How many rows of each kind were stored. */
        restored: recordOf(count()),
        /** The run that stored it. */
        attempt: count(),
        /** Whether that run ended with it of its own accord. */
        isSliceEnd: bool(),
      },
      {
        /** The trace that lines before it are about; `is_new` where this import has stored it. */
        open: shape({ project: anyText(), trace_id: anyText(), is_new: bool() }, { line: count() }),
        /** The versions that lines before it are about; `is_own` where others than these are there. */
        chain: shape({ key: anyText(), number: count(), is_own: bool() }),
        /** What the last line of the backup says, and at which offset it begins. */
        last_line: shape({ offset: count(), counts: recordOf(count()), sha256: anyText() }),
        /** `check` while the file is compared with its last line, `follow` while traces are searched. */
        phase: oneOf('check', 'follow'),
        /** The last chunk whose traces were searched. */
        followed_chunk_no: count(),
        /** Why the backup is not complete. */
        fault,
        /** Set when all is done; `fault` as above. */
        end: shape({}, { fault }),
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
