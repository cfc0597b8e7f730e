import { cursorMembers, stagingMembers } from './import-cursor.ts'
import { job } from './job.ts'
import { anyText, anyTime, count, int, shape, uuid } from './shape.ts'

/**
 * Reads the traces of another platform page by page, from the earliest window of time to the last, and
 * then puts them together.
 */
export const pullTraces = job(
  'import.pull',
  {
    payload: shape({ import_id: uuid() }),
    /** All pages before this one are stored, and nothing behind it. */
    checkpoint: shape(
      {
        ...cursorMembers,
        /** Bytes of answers before it. */
        bytes: count(),
        /** The window that is read. */
        from: anyTime(),
        to: anyTime(),
        /** Records that the window has given. */
        rows: count(),
        /** Seconds that the next window lasts. */
        window_seconds: int(1, 366 * 86_400),
        /** The most rows that are asked for at once. */
        limit: int(1, 100_000),
        /** How often in a row the platform asked for patience. */
        waits: count(),
        /** How many pages in a row, none of them the last of its window, had no record. */
        empty: count(),
      },
      {
        ...stagingMembers,
        /** Seconds of these waits together. */
        waited_seconds: count(),
        /** What the platform is asked with; absent until its project was found. */
        project: anyText().max(1000),
        /** Where the window goes on; absent at its beginning. */
        page: anyText().max(10_000),
      },
    ),
  },
  {
    policy: 'exclusive',
    // About an hour: a pull that fails has to be begun again, and its worker may be lost meanwhile, too.
    retryLimit: 14,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 600,
    expireInSeconds: 3600,
    heartbeatSeconds: 30,
  },
)
