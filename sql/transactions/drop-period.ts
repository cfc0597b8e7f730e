import { randomUUIDv7 } from 'node:crypto'
import type { Transaction } from '../core/db.ts'
import { markDays } from '../evals/cell-marks.ts'
import { insertAuditEvent } from '../org/audit-events.ts'
import { countPeriodTraces, daysOfPeriod, dropPartitions, removePeriod } from '../traces/periods.ts'
import type { Period, PeriodTraces } from '../traces/periods.ts'

/**
 * Drops a period with all that is stored of its traces, has the cells of their days added up anew, and tells
 * their organizations. Whoever uses traces waits for the last step alone, which takes milliseconds.
 * @returns what each project lost; undefined when the period is gone already
 */
export async function dropPeriod(
  tx: Transaction,
  period: Period,
): Promise<readonly PeriodTraces[] | undefined> {
  if (!(await removePeriod(tx, period))) return undefined
  await markDays(tx, daysOfPeriod(tx, period))
  const projects = await countPeriodTraces(tx, period)
  for (const { org_id, project_id, count } of projects) {
    await insertAuditEvent(tx, {
      id: randomUUIDv7(),
      org_id,
      action: 'trace_period.dropped',
      actor_key_id: null,
      resource_id: project_id,
      data: { name: period.slice(0, 'YYYY-MM'.length), traces: count },
    })
  }
  await dropPartitions(tx, period)
  return projects
}
