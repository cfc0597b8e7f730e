import t from 'tap'
import { compareHistories } from '../../../sql/core/standby.ts'
import {
  parsePosition,
  readReplayed,
  readWritten,
  writePosition,
} from '../../../sql/core/wal-position.ts'
import { openTestDatabase } from '../../support/database.ts'

t.test('a position is read and written as PostgreSQL does', async (t) => {
  const { sql } = await openTestDatabase(t)
  for (const text of ['0/0', '0/16B3748', '16/B374D848', '1FFFFF/FFFFFFFF']) {
    const [row] = await sql<{ bytes: number }[]>`select (${text}::pg_lsn - '0/0')::int8 as bytes`
    t.equal(parsePosition(text), row?.bytes)
    t.equal(writePosition(row?.bytes ?? 0), text)
  }
  for (const text of ['', '0', '0/', '/0', '0/0 ', '0/123456789', 'x/1', '-1/0', '0/0/0', '1g/0']) {
    t.equal(parsePosition(text), undefined, text)
  }
})

t.test('what is committed is before what a primary has written', async (t) => {
  const { sql } = await openTestDatabase(t)
  const before = await readWritten(sql)
  await sql`create table a (n int)`
  await sql`set synchronous_commit = on`
  await sql`insert into a values (1)`
  const after = await readWritten(sql)
  const [row] = await sql<
    { bytes: number }[]
  >`select (pg_current_wal_insert_lsn() - '0/0')::int8 as bytes`
  t.ok(after.bytes >= before.bytes && after.bytes <= Number(row?.bytes))
  await sql.reserve().then(async (one) => {
    await one`set synchronous_commit = off`
    await one`insert into a values (1)`
    const [{ committed }] = await one<[{ committed: number }]>`
      select (pg_current_wal_insert_lsn() - '0/0')::int8 as committed`
    t.ok((await readWritten(one)).bytes >= committed, 'also where it is not durable yet')
    one.release()
  })
  t.equal(compareHistories(before, after), undefined)
  t.equal(await readReplayed(sql), undefined, 'and a primary is no standby')
})

t.test('positions of other histories are not compared', async (t) => {
  const position = { system: '1', timeline: 1, bytes: 0 }
  t.equal(compareHistories(position, { ...position, system: '2' }), 'is of another cluster')
  t.match(compareHistories(position, { ...position, timeline: 2 }), /timeline/)
})
