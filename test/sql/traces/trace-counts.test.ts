import { randomUUIDv7 } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import {
  deleteEmptyCounts,
  deletePeriodChanges,
  deletePeriodCounts,
  foldCounts,
  recount,
} from '../../../sql/traces/count-changes.ts'
import { deleteTraces } from '../../../sql/traces/traces.ts'
import fc from '../../support/property.ts'
import { openService } from '../../support/service.ts'
import { countRows, readCounts } from '../../support/trace-counts.ts'
import { apply, judge, operation, PERIODS, store } from '../../support/trace-operations.ts'
import { until } from '../../support/until.ts'

t.test('counts of traces, decisions and edges', async (t) => {
  const service = await openService(t)
  const { sql } = service
  for (const period of PERIODS) await sql`select make_trace_period(${period})`

  async function check(t: Test, orgId: string, message: string) {
    t.same(await readCounts(sql, orgId), await countRows(sql, orgId), message)
  }

  t.test('are those of the rows after any operations, while changes are added up', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, { minLength: 10, maxLength: 40 }), {
          minLength: 3,
          maxLength: 3,
        }),
        async (chains) => {
          const org = await service.makeOrganization()
          let working = true
          const folding = (async () => {
            for (; working; await setImmediate()) await foldCounts(sql, 7)
          })()
          await Promise.all(
            chains.map(async (operations) => {
              const projectId = randomUUIDv7()
              await sql`
                insert into projects (org_id, id, workspace_id, name)
                values (${org.orgId}, ${projectId}, ${org.workspaceId}, ${projectId})`
              for (const each of operations) await apply(sql, { orgId: org.orgId, projectId }, each)
            }),
          )
          await check(t, org.orgId, 'while changes wait')
          working = false
          await folding
          while ((await foldCounts(sql, 1000)) > 0);
          await check(t, org.orgId, 'when none are left')
          const [left] = await sql`select from trace_count_changes where org_id = ${org.orgId}`
          t.notOk(left)
        },
      ),
      { numRuns: 4 },
    )
  })

  t.test('are right when the process that adds up is killed', async (t) => {
    const org = await service.makeOrganization()
    await store(sql, org, PERIODS[0], [0, 1, 2])
    while ((await foldCounts(sql, 1000)) > 0);
    await store(sql, org, PERIODS[0], [3, 4, 5])
    await sql.begin(async (tx) => {
      await tx`select from trace_counts for update`
      const killed = foldCounts(sql, 1000)
      const refused = t.rejects(killed)
      await until(async () => {
        const [waiting] = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'
            and query like '%insert into trace_counts%'`
        return waiting !== undefined
      })
      await refused
    })
    await check(t, org.orgId, 'nothing was moved')
    t.ok((await foldCounts(sql, 1000)) > 0, 'the next one does the work')
    await check(t, org.orgId, 'everything was moved')
  })

  t.test('are added up by one process at a time', async (t) => {
    const org = await service.makeOrganization()
    await store(sql, org, PERIODS[0], [0])
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(counts_lock())`
      t.equal(await foldCounts(sql, 1000), 0)
    })
    t.ok((await foldCounts(sql, 1000)) > 0)
  })

  t.test('are forgotten with their period', async (t) => {
    const org = await service.makeOrganization()
    await sql`select make_trace_period('2002-01-01')`
    await store(sql, org, PERIODS[0], [0, 1])
    await store(sql, org, '2002-01-01', [2, 3])
    await judge(sql, org, [0, 2], 1)
    await foldCounts(sql, 1)
    await sql.begin(async (tx) => {
      for (const table of ['traces', 'verdicts', 'eval_scores', 'trace_search']) {
        await tx`drop table ${tx(`${table}_2002_01`)}`
      }
      await deletePeriodCounts(tx, '2002-01-01')
      await deletePeriodChanges(tx, '2002-01-01')
      await tx`delete from trace_periods where period = '2002-01-01'`
    })
    const { traces, verdicts } = await readCounts(sql, org.orgId)
    const rows = await countRows(sql, org.orgId)
    t.same({ traces, verdicts }, { traces: rows.traces, verdicts: rows.verdicts })
    t.ok(traces.length > 0)
  })

  t.test('leave no row behind when nothing is left to count', async (t) => {
    const org = await service.makeOrganization()
    await store(sql, org, PERIODS[0], [0, 1, 2])
    await judge(sql, org, [0, 1], 2)
    while ((await foldCounts(sql, 1000)) > 0);
    await sql.begin((tx) => deleteTraces(tx, org.orgId, org.projectId, ['0', '1', '2']))
    while ((await foldCounts(sql, 1000)) > 0);
    while ((await deleteEmptyCounts(sql, 1)) > 0);
    const left = await sql`
      select from trace_counts where org_id = ${org.orgId}
      union all select from verdict_counts where org_id = ${org.orgId}`
    t.equal(left.length, 0)
  })

  t.test('are put right by counting again', async (t) => {
    const org = await service.makeOrganization()
    await store(sql, org, PERIODS[1], [0, 1, 2, 3])
    await judge(sql, org, [0, 1], 3)
    while ((await foldCounts(sql, 1000)) > 0);
    await store(sql, org, PERIODS[1], [4])
    await sql`update trace_counts set n = n + 5 where org_id = ${org.orgId}`
    await sql`delete from trace_count_changes where org_id = ${org.orgId}`
    await sql`delete from verdict_counts where org_id = ${org.orgId}`
    t.notSame(await readCounts(sql, org.orgId), await countRows(sql, org.orgId))
    const { after } = await recount(sql)
    await check(t, org.orgId, 'before changes are added up')
    t.same([{ n: after.traces }], await sql`select count(*) as n from traces`)
    while ((await foldCounts(sql, 1000)) > 0);
    await check(t, org.orgId, 'after changes are added up')
  })
})
