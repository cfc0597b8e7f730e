import { bisectRegression } from '../../jobs/bisect-regression.ts'
import { LOOKS } from '../../jobs/rules/regression/bisect.ts'
import { sweepRegressions } from '../../jobs/sweep-regressions.ts'
import { isStatementTimeout } from '../../sql/core/db.ts'
import { countMeasured } from '../../sql/regression/activations.ts'
import { listOpenSeries } from '../../sql/regression/series.ts'
import type { OpenSeries } from '../../sql/regression/series.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { bisectedSince } from './activations.ts'

/** Has a series bisected when a version was activated since, or the newest one has reached a further look. */
export const sweepRegressionsHandler = handler(sweepRegressions, async (_payload, run) => {
  const { sql, queue, signal, now } = run
  let found = 0
  for (const series of await listOpenSeries(sql, bisectedSince(now()), LOOKS.length)) {
    signal.throwIfAborted()
    if (!(await isDue(run, series))) continue
    const { org_id, project_id, agent_name, metric } = series
    // The queue holds one job of a key, so a series that waits since the last sweep gets no second one.
    await queue.enqueue(
      sql,
      bisectRegression,
      { project_id, agent_name, metric },
      { orgId: org_id, key: `${project_id} ${agent_name} ${metric}` },
    )
    if (++found === SERIES_A_SWEEP) return
  }
})

async function isDue({ sql, log }: Run, { looks, metric, ...series }: OpenSeries) {
  const next = looks === null ? undefined : LOOKS[looks]
  if (next === undefined) return true
  const agent = {
    orgId: series.org_id,
    projectId: series.project_id,
    agentName: series.agent_name,
  }
  const newest = { manifestId: series.manifest_id, begins: series.begins, limit: next }
  try {
    return (await countMeasured(sql, agent, metric, newest)) >= next
  } catch (error) {
    if (!isStatementTimeout(error)) throw error
    log.warn({ ...agent, metric }, 'The traces of a metric take too long to count')
    return false
  }
}

/** The series beyond this number are due at the next sweep. */
const SERIES_A_SWEEP = 500
