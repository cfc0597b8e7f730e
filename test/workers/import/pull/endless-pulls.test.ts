import t from 'tap'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'
import { startLangfuse } from '../../../support/platforms/langfuse-double.ts'
import { makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import type { DoubleKind } from '../../../support/platforms/pulls.ts'
import { openService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'

const TRACES = makePlatformTraces(2)
const LANGFUSE = DOUBLES['langfuse'] as DoubleKind

t.test('a pull that comes no further', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  pulls.hurry()
  /** Awaits the first retry, and leaves no further one. */
  const spendRetries = () =>
    until(async () => {
      const spent = await service.sql`
        update pgboss.job set retry_limit = retry_count where state = 'retry' and name = 'import.pull'`
      return spent.count > 0
    })

  t.test('ends when the cursor of the shortest window always expires', async (t) => {
    const double = await startLangfuse(t, TRACES)
    double.onCall = ({ path, query }) => {
      if (query.has('cursor')) return { status: 400, json: { message: 'Invalid cursor' } }
      if (!path.endsWith('/observations')) return undefined
      return { json: { data: [{ id: 'first' }], meta: { cursor: 'second' } } }
    }
    const pulled = await pulls.pull(LANGFUSE, double)
    await spendRetries()
    const shown = await pulled.ended()
    t.match(shown, { error: { code: 'source_cursor_expired' }, imported_count: 0 })
  })

  t.test('ends when pages without records follow each other', async (t) => {
    const double = await startLangfuse(t, TRACES)
    double.onCall = ({ path, query }) => {
      const cursor = query.get('cursor') === 'a' ? 'b' : 'a'
      return path.endsWith('/observations') ? { json: { data: [], meta: { cursor } } } : undefined
    }
    const pulled = await pulls.pull(LANGFUSE, double)
    await spendRetries()
    const shown = await pulled.ended()
    t.match(shown, { error: { code: 'source_unreadable' }, imported_count: 0 })
  })

  t.test('is not taken up behind what was deleted', async (t) => {
    const double = await startLangfuse(t, TRACES, { mostRows: 1 })
    double.onCall = ({ query }) => (query.has('cursor') ? { status: 401, json: {} } : undefined)
    const pulled = await pulls.pull(LANGFUSE, double)
    t.match(await pulled.ended(), { error: { code: 'source_refused' } })
    t.equal(await pulls.countStaged(), 0)
    // As of a platform that asks for no keys: without them a job can be tried again.
    await service.sql`update jobs set has_secret = false where id = ${pulled.jobId}`
    await pulled.post(`/jobs/${pulled.jobId}/retry`, { force: true })
    t.match(await pulled.ended(), { error: { code: 'parts_gone' }, imported_count: 0 })
  })
})
