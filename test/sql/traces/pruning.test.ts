import t from 'tap'
import type { Test } from 'tap'
import type { Fragment, Sql } from '../../../sql/core/db.ts'
import { onlyRow } from '../../../sql/core/db.ts'
import { indexTraces } from '../../../sql/traces/trace-search.ts'
import { isSameTrace, keysOf, ofTrace, ofTraces, withVerdict } from '../../../sql/traces/traces.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

const TRACES_A_PERIOD = 1000
const PERIODS = ['2025-03-01', '2025-04-01']
const TABLES = ['traces', 'eval_scores', 'verdicts', 'trace_search']

t.test('what names traces reads the partition they are in, and no other', async (t) => {
  const { sql, makeOrganization } = await openService(t)
  const org = await makeOrganization()
  await makePeriodsAt(sql, '2025-03-15')
  for (const period of PERIODS) await storingIn(sql, period, () => store(period))
  await store('now')
  await sql`analyze trace_ids, traces, eval_scores, verdicts, trace_search`

  async function store(name: string) {
    const traces = Array.from({ length: TRACES_A_PERIOD }, (_, i) => ({ trace_id: `${name} ${i}` }))
    await storeJudged(sql, org, traces)
    const ids = traces.map(({ trace_id }) => trace_id)
    await indexTraces(sql, org.orgId, org.projectId, ids)
  }

  const keys = [1, 7, 500].map((i) => ({
    org_id: org.orgId,
    project_id: org.projectId,
    trace_id: `${PERIODS[1]} ${i}`,
  }))
  const [key] = keys as [(typeof keys)[0]]
  const ids = keys.map(({ trace_id }) => trace_id)

  for (const table of TABLES) {
    const rows = sql`select trace_id from ${sql(table)} s`
    await reads(t, table, sql`${rows} where ${ofTrace(sql, key)}`)
    await reads(t, table, sql`${rows} where ${ofTraces(sql, org.orgId, org.projectId, ids)}`)
    await reads(
      t,
      table,
      sql`
      ${rows} join ${keysOf(sql, keys)} using (org_id, project_id, period, trace_id)`,
    )
    await reads(
      t,
      table,
      sql`
      select s.trace_id from ${keysOf(sql, keys)} join ${sql(table)} s
        on ${isSameTrace(sql, sql`s`, sql`k`)}`,
    )
    const gone = ofTrace(sql, { ...key, trace_id: 'gone' })
    await reads(t, table, sql`delete from ${sql(table)} where ${gone}`, [])
    await reads(t, table, sql`${rows} where ${ofTrace(sql, key)} for update`)
  }
  await reads(
    t,
    'traces verdicts',
    sql`select v.verdict from traces t ${withVerdict(sql)}
      where ${ofTraces(sql, org.orgId, org.projectId, ids, sql`t.`)}`,
  )

  /** Checks which partitions of these tables a query opens: by default those of the named traces. */
  async function reads(t: Test, tables: string, query: Fragment, months = ['2025_04']) {
    const opened = await listOpened(sql, query)
    const wanted = tables.split(' ').flatMap((table) => months.map((month) => `${table}_${month}`))
    t.same(
      opened.filter((name) => name !== 'trace_ids'),
      wanted,
      tables,
    )
  }
})

/** The tables whose rows a query looks for, in order. */
async function listOpened(sql: Sql, query: Fragment) {
  const rows = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>`
    explain (analyze, timing off, format json) ${query}`
  const [{ Plan: plan }] = onlyRow(rows)['QUERY PLAN']
  return [...new Set(openedBy(plan))].sort()
}

function openedBy(plan: Plan): string[] {
  const { 'Relation Name': table, 'Node Type': type, 'Actual Loops': loops, Plans = [] } = plan
  const own = table && loops > 0 && type !== 'ModifyTable' ? [table] : []
  return [...own, ...Plans.flatMap(openedBy)]
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}
