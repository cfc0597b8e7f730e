import { job } from './job.ts'
import { shape, text, uuid } from './shape.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'

/** Looks for the version of an agent from which on a metric was worse. */
export const bisectRegression = job(
  'regression.bisect',
  { payload: shape({ project_id: uuid(), agent_name: text(), metric: text() }) },
  MINUTES_OF_WORK,
)
