import type { EvalVerdict } from '../core/verdicts.ts'
import { PLAIN_SCORE } from '../evals/score.ts'
import type { NewScore } from '../evals/score.ts'

/** The score that a runner gave with a replay, 0 to 1, as one of the replay's own. */
export function replayScore(taskId: string, value: number, verdict: EvalVerdict | null): NewScore {
  return {
    ...PLAIN_SCORE,
    name: 'replay_score',
    source: 'custom',
    source_kind: 'custom',
    identifier: taskId,
    value,
    data_type: 'numeric',
    passed: verdict === 'pass' ? true : verdict === 'fail' ? false : null,
    category: 'quality',
    metadata: {},
  }
}
