import t from 'tap'
import { openService } from '../../../support/service.ts'
import { makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import type { DoubleName } from '../../../support/platforms/pulls.ts'
import { importTracesHandler } from '../../../../workers/import/import-traces.ts'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'

const TRACES = makePlatformTraces(24)
const FAULTS = { tooManyUntil: 1, tooMany: 1, dropped: 2, expired: 2, unavailable: 1 }

t.test('a pull leaves behind what the import of the same records as a file does', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  await service.startWorkers([importTracesHandler, pullTracesHandler])
  const pulls = openPulls(t, service)
  pulls.hurry()

  for (const source of Object.keys(DOUBLES) as DoubleName[]) {
    await t.test(`${source}, whatever happens on the way`, async (t) => {
      const seed = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
      t.comment(`FC_SEED=${seed}`)
      const options = { faults: FAULTS, seed, repeats: true, mostRows: 20 }
      const double = await DOUBLES[source].start(t, TRACES, options)
      const expected = await pulls.stateOfFile(source, double)
      t.equal(expected.traces.length, TRACES.length)
      t.equal(expected.scores.length, TRACES.length)

      const pulled = await pulls.pull(source, double)
      const shown = await pulled.ended(120_000)
      t.match(shown, { error: null, error_count: 0, imported_count: TRACES.length, losses: {} })
      const state = await pulls.stateOf(pulled)
      t.same(state.traces, expected.traces)
      t.same(state.scores, expected.scores)
      t.same(state.judged, expected.judged)
      t.equal(double.faultsLeft(), 0, `it met ${double.happened.join(', ')}`)
      t.equal(await pulls.countStaged(), 0)

      const again = await pulls.pull(source, double, {}, pulled)
      t.match(await again.ended(), { imported_count: 0, skipped_count: TRACES.length })
      const { traces, scores } = await pulls.stateOf(pulled)
      t.same({ traces, scores }, { traces: state.traces, scores: state.scores })
    })
  }
})
