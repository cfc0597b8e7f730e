import type { JobQueueOptions } from './job.ts'

/** Work of seconds on rows, which may be done again at once. */
export const SECONDS_OF_WORK: JobQueueOptions = {
  retryLimit: 5,
  retryDelaySeconds: 2,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 300,
  heartbeatSeconds: 20,
}

/** Work of minutes on all traces of a manifest. */
export const MINUTES_OF_WORK: JobQueueOptions = {
  policy: 'exclusive',
  retryLimit: 3,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 1800,
  heartbeatSeconds: 30,
}

/** Work of any length that is done in slices of at most two minutes. */
export const SLICED_WORK: JobQueueOptions = {
  policy: 'exclusive',
  retryLimit: 5,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 300,
  expireInSeconds: 900,
  heartbeatSeconds: 20,
}

/** Work that a schedule repeats, so that few retries are enough. */
export const SCHEDULED_WORK: JobQueueOptions = {
  policy: 'exclusive',
  retryLimit: 2,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 900,
  heartbeatSeconds: 30,
}
