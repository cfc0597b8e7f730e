import type { EvalVerdict } from '../core/verdicts.ts'
import type { NewScore } from '../evals/score.ts'

/** The score that a runner gave with a replay, 0 to 1, as one of the replay's own. */
export function replayScore(taskId: string, value: number, verdict: EvalVerdict | null): NewScore {
  return {
    name: 'replay_score',
    source: 'custom',
    source_kind: 'custom',
    span_id: '',
    identifier: taskId,
    value,
    data_type: 'numeric',
    label: null,
    passed: verdict === 'pass' ? true : verdict === 'fail' ? false : null,
    reason: null,
    category: 'quality',
    category_detail: null,
    source_label: null,
    evaluator_version: null,
    metadata: {},
  }
}
