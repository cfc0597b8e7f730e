import type { Area } from '../endpoint.ts'
import { aggregateScores } from './aggregate-scores.ts'
import { createEvaluator } from './create-evaluator.ts'
import { decideTrace } from './decide-trace.ts'
import { decideBatch } from './decide-batch.ts'
import { deleteEvaluator } from './delete-evaluator.ts'
import { evaluateTrace } from './evaluate-trace.ts'
import { listEvaluators } from './list-evaluators.ts'
import { listPolicyVersions } from './list-policy-versions.ts'
import { listEvaluatorTemplates } from './list-evaluator-templates.ts'
import { listTraceScores } from './list-trace-scores.ts'
import { previewPolicy } from './preview-policy.ts'
import { pushScores } from './push-scores.ts'
import { pushTraceScores } from './push-trace-scores.ts'
import { registerEvaluators } from './register-evaluators.ts'
import { setPolicy } from './set-policy.ts'
import { showBreakdown } from './show-breakdown.ts'
import { showDecision } from './show-decision.ts'
import { showEvalHistogram } from './show-eval-histogram.ts'
import { showEvalStats } from './show-eval-stats.ts'
import { showPolicy } from './show-policy.ts'

export const evals: Area = {
  'eval-scores': [
    pushTraceScores,
    pushScores,
    listTraceScores,
    showBreakdown,
    aggregateScores,
    showEvalStats,
    showEvalHistogram,
    decideTrace,
    showDecision,
    decideBatch,
    showPolicy,
    setPolicy,
    previewPolicy,
    listPolicyVersions,
    listEvaluators,
    listEvaluatorTemplates,
    createEvaluator,
    deleteEvaluator,
    registerEvaluators,
    evaluateTrace,
  ],
}
