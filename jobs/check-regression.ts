import { job } from './job.ts'
import { walkedTraces } from './rules/regression/walked-traces.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { int, shape, text, time, uuid } from './shape.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'

/** Measures a candidate manifest against a baseline by the baseline's recorded traces. */
export const checkRegression = job(
  'regression.check',
  {
    payload: shape(
      {
        project_id: uuid(),
        agent_name: text(),
        candidate_manifest_id: uuid(),
        trace_window_days: int(1, 365),
        /** End of the window. */
        until: time(),
      },
      {
        /** None for an agent's first check. */
        baseline_manifest_id: uuid(),
        /** None for a dry run, which is kept nowhere but in the result of the job. */
        check_id: uuid(),
      },
    ),
    checkpoint: shape({
      /** The last trace that was walked. */
      at: tracePosition,
      walked: walkedTraces,
    }),
  },
  MINUTES_OF_WORK,
)
