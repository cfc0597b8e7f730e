import { bisectRegression } from '../../jobs/bisect-regression.ts'
import { LOOKS } from '../../jobs/rules/bisect.ts'
import { sweepRegressions } from '../../jobs/sweep-regressions.ts'
import { listDueSeries } from '../../sql/regression-series.ts'
import { transactionalHandler } from '../handler.ts'

export const sweepRegressionsHandler = transactionalHandler(
  sweepRegressions,
  async (_payload, { queue }, tx) => {
    for (const { org_id, project_id, agent_name, metric } of await listDueSeries(
      tx,
      LOOKS,
      SERIES_A_SWEEP,
    )) {
      // The queue takes one of a key at a time: a series that waits since the last sweep is left.
      await queue.enqueue(
        tx,
        bisectRegression,
        { project_id, agent_name, metric },
        { orgId: org_id, key: `${project_id} ${agent_name} ${metric}` },
      )
    }
  },
)

/** Those left over are due at the next one. */
const SERIES_A_SWEEP = 500
