import t from 'tap'
import { deleteTraces } from '../../jobs/delete-traces.ts'

t.test('a filter that a release does not know whole deletes nothing', async (t) => {
  const payload = { created_before: '2026-10-01T00:00:00Z', filter: { agent_name: 'agent' } }
  t.equal(deleteTraces.payload.validate(payload).error, undefined)
  const unknown = { ...payload, filter: { ...payload.filter, region: 'north' } }
  t.match(deleteTraces.payload.validate(unknown).error?.message, /region.* is not allowed/)
})
