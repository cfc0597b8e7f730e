import { job } from './job.ts'
import { shape } from './shape.ts'
import { SCHEDULED_WORK } from './queue-options.ts'

/** Has every metric bisected that has reached a further look. */
export const sweepRegressions = job(
  'regression.sweep',
  { payload: shape({}) },
  { ...SCHEDULED_WORK, policy: 'short' },
)
