import { activateDraftHandler } from './activate-draft.ts'
import { analyzeCompatibilityHandler } from './analyze-compatibility.ts'
import { applyRepairHandler } from './apply-repair.ts'
import { bisectRegressionHandler } from './bisect-regression.ts'
import { checkRegressionHandler } from './check-regression.ts'
import { linkTracesHandler } from './link-traces.ts'
import { previewRepairHandler } from './preview-repair.ts'
import { retargetVerdictsHandler } from './retarget-verdicts.ts'
import { sweepRegressionsHandler } from './sweep-regressions.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [
  analyzeCompatibilityHandler,
  retargetVerdictsHandler,
  previewRepairHandler,
  applyRepairHandler,
  linkTracesHandler,
  activateDraftHandler,
  checkRegressionHandler,
  bisectRegressionHandler,
  sweepRegressionsHandler,
]
