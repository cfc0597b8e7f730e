import t from 'tap'
import { buildIndex } from '../../../sql/core/build-index.ts'
import { openDatabase } from '../../../sql/core/db.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { listExpiredPeriods, listPeriods, makePeriods } from '../../../sql/traces/periods.ts'
import { makePeriodsAt } from '../../support/periods.ts'
import { openTestDatabase } from '../../support/database.ts'

t.test('room for the traces of a month', async (t) => {
  const { sql, url } = await openTestDatabase(t)
  const make = (time: string) => sql.begin((tx: Transaction) => makePeriods(tx, new Date(time)))

  t.test('is made for this month and the next one, once', async (t) => {
    t.same(await make('2030-12-31T23:59:59Z'), ['2030-12-01', '2031-01-01'])
    t.same(await make('2030-12-31T23:59:59Z'), [])
    const made = await Promise.all([make('2031-01-01T00:00:00Z'), make('2031-01-01T00:00:00Z')])
    t.same(made.flat(), ['2031-02-01'])
  })

  t.test('is made while somebody stores traces', async (t) => {
    const writer = await sql.reserve()
    await writer`begin`
    await writer`lock table traces, eval_scores, verdicts, trace_search in row exclusive mode`
    const made = await sql.begin(async (tx: Transaction) => {
      await tx`set local lock_timeout = '1s'`
      return makePeriods(tx, new Date('2032-05-05'))
    })
    t.same(made, ['2032-05-01', '2032-06-01'])
    await writer`rollback`
    writer.release()
  })

  t.test('has every index of the whole, one that came later too', async (t) => {
    const migrator = openDatabase(url, { max: 3, statementTimeoutMs: 0 })
    t.teardown(() => migrator.end({ timeout: 1 }))
    const index = { name: 'traces_of_release', table: 'traces', isUnique: false }
    await buildIndex(migrator, { ...index, definition: '(org_id, release)' }, () => undefined)
    await make('2033-01-15')
    const lacking = await sql`
      select i.indexrelid::regclass::text as index, p.inhrelid::regclass::text as partition
      from pg_index i join pg_inherits p on p.inhparent = i.indrelid
      where i.indrelid = any('{traces, eval_scores, verdicts, trace_search}'::regclass[])
        and (not i.indisvalid or not exists (
          select from pg_inherits a join pg_index part on part.indexrelid = a.inhrelid
          where a.inhparent = i.indexrelid and part.indrelid = p.inhrelid and part.indisvalid))`
    t.same(lacking, [])
    const [{ parts }] = await sql<[{ parts: number }]>`
      select count(*)::int as parts from pg_inherits where inhparent = 'traces_of_release'::regclass`
    t.equal(parts, (await listPeriods(sql)).length)
  })
})

t.test('a period is over when the next one has been made and has begun', async (t) => {
  const { sql } = await openTestDatabase(t)
  const expiredAt = (time: string) => listExpiredPeriods(sql, 31, new Date(time))
  await makePeriodsAt(sql, '2025-03-15')
  // Maintenance stood still in May, so that the traces of half of it went into April.
  await makePeriodsAt(sql, '2025-05-20')
  t.same(await expiredAt('2025-05-01'), [])
  t.same(await expiredAt('2025-05-03'), ['2025-03-01'])
  t.same(await expiredAt('2025-06-20'), ['2025-03-01'])
  t.same(await expiredAt('2025-06-21'), ['2025-03-01', '2025-04-01'])
})
