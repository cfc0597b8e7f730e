/** What becomes of a trace, by its compatibility with a manifest as by the whole evidence; the best first. */
export const VERDICTS = ['keep', 'repair', 'replay', 'drop'] as const
export type Verdict = (typeof VERDICTS)[number]

/** What the scores of a trace alone say of it. */
export const EVAL_VERDICTS = ['pass', 'review', 'fail'] as const
export type EvalVerdict = (typeof EVAL_VERDICTS)[number]

/** Codes of the reasons to repair a trace that its rows have a patch for without a repair. */
export const STEPS_MASKED = 'step.masked'
export const OUTPUT_CORRECTED = 'output.corrected'
