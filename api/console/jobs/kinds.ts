/** What jobs that a client can read do, in the order data flows; by kind. */
export const JOB_TITLES: Readonly<Record<string, string>> = {
  'import.run': 'Import of a file',
  'import.pull': 'Import from another service',
  'import.restore': 'Restore of a backup',
  'evals.judge': 'Judging of traces',
  'evals.decide': 'Deciding anew',
  'compat.analyze': 'Compatibility of a version',
  'compat.retarget': 'Comparison with the active version',
  'repair.preview': 'Preview of a repair',
  'repair.apply': 'Repair of traces',
  'regression.check': 'Regression check',
  'regression.bisect': 'Search for a regression',
  'dataset.build': 'Build of a dataset version',
  'dataset.push': 'Push of a dataset version',
  'replay.prepare': 'Preparation of a replay',
  'replay.dispatch': 'Dispatch of a replay',
  'skills.scan': 'Scan of a skill',
  'traces.delete': 'Deletion of traces',
}

/** What a job does, in words; its kind where there are none. */
export function jobTitle(kind: string): string {
  return JOB_TITLES[kind] ?? kind
}
