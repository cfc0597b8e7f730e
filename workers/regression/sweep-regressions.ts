import { bisectRegression } from '../../jobs/bisect-regression.ts'
import { LOOKS } from '../../jobs/rules/regression/bisect.ts'
import { sweepRegressions } from '../../jobs/sweep-regressions.ts'
import { listDueSeries } from '../../sql/regression/series.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const sweepRegressionsHandler = transactionalHandler(
  sweepRegressions,
  async (_payload, { queue }, tx) => {
    for (const { org_id, project_id, agent_name, metric } of await listDueSeries(
      tx,
      LOOKS,
      SERIES_A_SWEEP,
    )) {
      // The queue holds one job of a key, so a series that waits since the last sweep gets no second one.
      await queue.enqueue(
        tx,
        bisectRegression,
        { project_id, agent_name, metric },
        { orgId: org_id, key: `${project_id} ${agent_name} ${metric}` },
      )
    }
  },
)

/** The series beyond this number are due at the next sweep. */
const SERIES_A_SWEEP = 500
