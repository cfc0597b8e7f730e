import t from 'tap'
import { openService } from '../support/service.ts'

t.test('an API is unready on a schema that is behind, and says so to everybody', async (t) => {
  const { sql, client, makeOrganization } = await openService(t)
  const { get } = client((await makeOrganization()).key)
  t.match(await get('//readyz'), { status: 200, body: { status: 'ok' } })
  // Not one of those that wait for the end of an upgrade: a schema may go without them.
  await sql`
    delete from applied_migrations
    where number = (select max(number) from applied_migrations where serves < number)`
  t.match(await get('//readyz'), { status: 503, body: { status: 'schema is behind' } })
})
