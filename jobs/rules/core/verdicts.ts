/** What becomes of a trace, by its compatibility with a manifest as by the whole evidence. */
export const VERDICTS = ['keep', 'repair', 'replay', 'drop'] as const
export type Verdict = (typeof VERDICTS)[number]

/** What the scores of a trace alone say of it. */
export const EVAL_VERDICTS = ['pass', 'review', 'fail'] as const
export type EvalVerdict = (typeof EVAL_VERDICTS)[number]
