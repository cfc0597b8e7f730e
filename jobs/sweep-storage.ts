import { job } from './job.ts'
import { shape } from './shape.ts'
import { SCHEDULED_WORK } from './queue-options.ts'

/** Deletes stored files that nothing needs any more. Looking at millions of files takes a while. */
export const sweepStorage = job(
  'maint.storage',
  { payload: shape({}) },
  { ...SCHEDULED_WORK, expireInSeconds: 3600 },
)
