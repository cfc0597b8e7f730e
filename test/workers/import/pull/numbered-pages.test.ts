import t from 'tap'
import { importTracesHandler } from '../../../../workers/import/import-traces.ts'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'
import { startLangfuse } from '../../../support/platforms/langfuse-double.ts'
import { makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import type { DoubleKind } from '../../../support/platforms/pulls.ts'
import { openService } from '../../../support/service.ts'

const OLD = DOUBLES['langfuse before version 4'] as DoubleKind

t.test('numbered pages, whose order leaves rows of one time open', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  await service.startWorkers([pullTracesHandler, importTracesHandler])
  const pulls = openPulls(t, service)
  pulls.hurry()

  t.test('lose no row, and double none', async (t) => {
    const double = await OLD.start(t, makePlatformTraces(24), { mostRows: 7 })
    const expected = await pulls.stateOfFile(OLD, double)
    const pulled = await pulls.pull(OLD, double)
    t.match(await pulled.ended(), { error: null, error_count: 0, losses: {} })
    const { traces, scores } = await pulls.stateOf(pulled)
    t.same({ traces, scores }, { traces: expected.traces, scores: expected.scores })
    const [job] = await service.sql`
      select attempt, interruptions from jobs where id = ${pulled.jobId}`
    t.match(job, { attempt: 1, interruptions: 0 }, 'and use up no attempt')
  })

  t.test('are read on after a fault of the first one', async (t) => {
    const double = await OLD.start(t, makePlatformTraces(24), { mostRows: 7 })
    let faults = 1
    double.onCall = ({ query }) =>
      query.has('page') && faults-- > 0 ? { status: 500, json: {} } : undefined
    const pulled = await pulls.pull(OLD, double)
    t.match(await pulled.ended(), { error: null, imported_count: 72 })
  })

  t.test('cost few requests where there is little to read', async (t) => {
    const double = await OLD.start(t, makePlatformTraces(24))
    const pulled = await pulls.pull(OLD, double, { since: '2023-01-01T00:00:00Z' })
    t.match(await pulled.ended(), { error: null, imported_count: 72 })
    t.ok(double.calls.length < 200, `${double.calls.length} requests`)
  })

  t.test('come to an end where all rows are of one time', async (t) => {
    const at = new Date('2026-03-02T10:00:00Z')
    const traces = makePlatformTraces(4).map((trace) => ({
      ...trace,
      steps: trace.steps.map((step) => ({ ...step, from: at, to: at })),
    }))
    const double = await startLangfuse(t, traces, { isOld: true, mostRows: 5 })
    const pulled = await pulls.pull(OLD, double)
    t.match(await pulled.ended(), { error: null })
    t.ok(double.calls.length < 200, `${double.calls.length} requests`)
  })
})
