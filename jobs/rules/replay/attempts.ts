/** How often a task is given out: one whose last lease runs out, or fails, has failed for good. */
export const MAX_ATTEMPTS = 3
/** How long a worker holds a task unless it asks for another time. */
export const LEASE_SECONDS = 60
export const MAX_LEASE_SECONDS = 3600
/** Tasks given out to one claim. */
export const MAX_CLAIM = 50
