import t from 'tap'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { countLockWaits } from '../support/lock-waits.ts'

t.test('a request that ends in a deadlock is to be sent again', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { key } = await service.makeOrganization()
  const client = service.client(key)
  const trace = { trace_id: 't', agent_name: 'a' }
  const other = await sql.reserve()
  t.teardown(() => other.release())
  await other`begin`
  await other`set local deadlock_timeout = '60s'`
  await other`lock table pgboss.job in exclusive mode`
  // The last to wait is the request, so that it is the one to find the deadlock.
  const { stored, locked } = await sql.begin(async (tx) => {
    await tx`lock table traces in exclusive mode`
    const stored = client.post('/traces', trace)
    await until(() => countLockWaits(sql, { table: 'traces' }))
    const locked = other`lock table trace_ids in exclusive mode`.execute()
    await until(() => countLockWaits(sql, { table: 'trace_ids' }))
    return { stored, locked }
  })
  t.match(await stored, {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { code: 'unavailable', detail: 'The service is busy; try again' },
  })
  await locked
  await other`rollback`
  t.match(await client.post('/traces', trace), { status: 201 })
})
