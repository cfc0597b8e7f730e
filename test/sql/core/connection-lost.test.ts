import { Socket } from 'node:net'
import t from 'tap'
import { isConnectionLost, openDatabase } from '../../../sql/core/db.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { createDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

t.test('a database that refuses connections is known in statements and transactions', async (t) => {
  const sql = openDatabase('postgres://127.0.0.1:1/none', { max: 2 })
  t.teardown(() => sql.end({ timeout: 0 }))
  const failures = [
    await sql`select 1`.catch((error: unknown) => error),
    await sql.begin(() => []).catch((error: unknown) => error),
  ]
  for (const failure of failures) {
    t.match(failure, { code: 'ECONNREFUSED' })
    t.ok(isConnectionLost(failure))
  }
  const other = await fetch('http://127.0.0.1:1').catch((error: Error) => error.cause)
  t.notOk(isConnectionLost(other), 'another socket is not the database')
  const inside = Object.assign(new Error('of another socket'), { code: 'ECONNRESET' })
  t.notOk(isConnectionLost(inside))
})

t.test('a database whose connection times out at the commit is known, too', async (t) => {
  const url = await createDatabase(t)
  const other = openDatabase(url, { max: 1 })
  t.teardown(() => other.end())
  await other.unsafe(`
    create table slow (id int);
    create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(600); return null; end';
    create constraint trigger slow after insert on slow deferrable initially deferred
      for each row execute function slow()`)
  const connected = t.capture(Socket.prototype, 'connect', Socket.prototype.connect)
  const sql = openDatabase(url, { max: 1 })
  t.teardown(() => sql.end({ timeout: 0 }))
  const failed = sql
    .begin((tx: Transaction) => tx`insert into slow values (1)`)
    .catch((error: unknown) => error)
  await until(async () => {
    const [row] = await other`
      select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    return row
  })
  const timeout = () => Object.assign(new Error('read ETIMEDOUT'), { code: 'ETIMEDOUT' })
  const socket = connected().at(-1)?.receiver as unknown as Socket
  socket.destroy(timeout())
  const failure = await failed
  t.match(failure, { code: 'ETIMEDOUT' })
  t.ok(isConnectionLost(failure))
  t.notOk(isConnectionLost(timeout()), 'another socket is not the database')
})
