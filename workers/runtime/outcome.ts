/** What came of a run. */
export type AttemptOutcome =
  'done' | 'continued' | 'released' | 'cancelled' | 'gave_up' | 'failed' | 'retried' | 'dropped'
