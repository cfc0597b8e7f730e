import t from 'tap'
import { isConnectionLost, openDatabase } from '../../../sql/core/db.ts'

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
