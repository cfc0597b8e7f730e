import { bisectRegression } from '../../jobs/bisect-regression.ts'
import { LOOKS } from '../../jobs/rules/regression/bisect.ts'
import { sweepRegressions } from '../../jobs/sweep-regressions.ts'
import { isStatementTimeout } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'
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
  for await (const series of openSeries(sql, bisectedSince(now()))) {
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

/** The open series, read page by page. */
async function* openSeries(sql: Sql, since: Date) {
  let page: OpenSeries[] = []
  do {
    const next = { after: page.at(-1), limit: SERIES_A_PAGE }
    page = await listOpenSeries(sql, { since, looks: LOOKS.length }, next)
    yield* page
  } while (page.length === SERIES_A_PAGE)
}

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
/** A page sorts all of the list, so there are few. */
const SERIES_A_PAGE = 10_000
