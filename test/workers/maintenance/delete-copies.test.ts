import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { judgeTraces } from '../../../sql/transactions/judge-traces.ts'
import { removeTraces } from '../../../sql/transactions/remove-traces.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

t.test('copies that are judged while their oldest trace is being deleted', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { queue } = context
  const org = await service.makeOrganization()

  /** Stores a trace that is not judged, with the conversation of all others. */
  const store = (trace_id: string, day: number) =>
    storeJudged(sql, org, [
      { trace_id, started_at: `2026-10-0${day}T00:00:00Z`, verdict: null, quality: null },
    ])
  const firstOf = async (traceId: string) => {
    const [row] = await sql<{ duplicate_of: string | null }[]>`
      select duplicate_of from verdicts where org_id = ${org.orgId} and trace_id = ${traceId}`
    return row?.duplicate_of
  }

  await store('first', 1)
  const judged = Promise.withResolvers<unknown>()
  await queue.transaction(sql, async (tx: Transaction) => {
    await removeTraces(tx, queue, org, ['first'])
    await store('second', 2)
    await store('third', 3)
    judged.resolve(
      queue.transaction(sql, (other: Transaction) =>
        judgeTraces(other, queue, org.orgId, org.projectId, ['second', 'third']),
      ),
    )
    // The judgement, before it requests the aggregation that the deletion has requested.
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
  })
  await judged.promise
  t.equal(await firstOf('second'), 'first', 'until the deletion has ended')
  await service.startWorkers([judgeTracesHandler])
  await until(async () => (await firstOf('second')) === null)
  await until(async () => (await firstOf('third')) === 'second')
})
