/** What came of a run. */
export type AttemptOutcome =
  'done' | 'continued' | 'released' | 'canceled' | 'gave_up' | 'failed' | 'retried' | 'dropped'
