import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { copyTraces, encodeTraces } from '../../../sql/traces/trace-copy.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { openService } from '../../support/service.ts'
import { emptyRow } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

t.test('the id of a trace', async (t) => {
  const { sql, makeOrganization } = await openService(t)
  const { orgId: org_id, projectId: project_id } = await makeOrganization()
  const [old] = (await makePeriodsAt(sql, '2025-03-15')) as [string]

  function rowsOf(ids: readonly string[], agent = 'agent') {
    return ids.map((id) => ({ ...emptyRow(id, agent), org_id, project_id }))
  }
  const insert = async (tx: Transaction, ids: readonly string[], agent?: string) =>
    (await insertTraces(tx, rowsOf(ids, agent))).map(({ trace_id }) => trace_id)
  const copy = async (tx: Transaction, ids: readonly string[]) => {
    const rows = encodeTraces(org_id, project_id, rowsOf(ids))
    return (await copyTraces(tx, rows, 0, ids.length)).map(({ trace_id }) => trace_id)
  }
  const run = (store: typeof copy, ...ids: string[]) =>
    sql.begin((tx: Transaction) => store(tx, ids))

  t.test('stays unique when the month changes, for requests and imports', async (t) => {
    t.same(await storingIn(sql, old, () => run(insert, 'a')), ['a'])
    t.same(await storingIn(sql, old, () => run(copy, 'b')), ['b'])
    t.same(await run(insert, 'a', 'b', 'c'), ['c'])
    t.same((await run(copy, 'a', 'b', 'c', 'd')).sort(), ['d'])
    const kept = await sql`
      select period::text, array_agg(trace_id order by trace_id) as ids from traces group by 1 order by 1`
    t.match(kept, [{ period: old, ids: ['a', 'b'] }, { ids: ['c', 'd'] }])
  })

  t.test('belongs to whoever stores it first, though the month changes meanwhile', async (t) => {
    const first = await sql.reserve()
    await first`begin`
    await storingIn(sql, old, () => insertTraces(first, rowsOf(['contended'])))
    const second = run(insert, 'contended')
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
    await first`commit`
    first.release()
    t.same(await second, [])
    t.match(await sql`select period::text from traces where trace_id = 'contended'`, [
      { period: old },
    ])
  })

  t.test('is taken once by a batch that has it twice, by the first', async (t) => {
    const rows = [...rowsOf(['twice'], 'first'), ...rowsOf(['twice'], 'second')]
    t.equal((await insertTraces(sql, rows)).length, 1)
    t.match(await sql`select agent_name from traces where trace_id = 'twice'`, [
      { agent_name: 'first' },
    ])
    await run(copy, 'imported', 'imported')
    t.equal((await sql`select from traces where trace_id = 'imported'`).length, 1)
  })

  t.test('is stored once by batches that come at once in any order, and none fails', async (t) => {
    for (let round = 0; round < 10; round++) {
      const ids = Array.from({ length: 40 }, (_, i) => `${round} ${i} é😀`)
      const stored = await Promise.all(
        [insert, copy, insert, copy].map((store, i) =>
          run(store, ...(i < 2 ? ids : ids.toReversed())),
        ),
      )
      t.same(stored.flat().sort(), ids.sort())
    }
  })
})
