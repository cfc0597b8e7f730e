import { randomInt } from 'node:crypto'
import t from 'tap'
import { importTracesHandler } from '../../../../workers/import/import-traces.ts'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'
import { makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import { openService } from '../../../support/service.ts'

const TRACES = makePlatformTraces(24)
const FAULTS = { tooManyUntil: 1, tooMany: 1, dropped: 2, expired: 2, unavailable: 1 }
t.test('a pull leaves behind what the import of the same records as a file does', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  await service.startWorkers([importTracesHandler, pullTracesHandler])
  const pulls = openPulls(t, service)
  pulls.hurry()
  t.jobs = Object.keys(DOUBLES).length

  for (const [name, kind] of Object.entries(DOUBLES)) {
    t.test(`${name}, whatever happens on the way`, { buffered: true }, async (t) => {
      const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31))
      t.comment(`FC_SEED=${seed}`)
      const double = await kind.start(t, TRACES, {
        faults: { ...FAULTS, ...kind.faults },
        seed,
        repeats: true,
        mostRows: 20,
      })
      const expected = await pulls.stateOfFile(kind, double)
      t.equal(expected.traces.length, TRACES.length)
      t.equal(expected.scores.length, TRACES.length)

      const pulled = await pulls.pull(kind, double)
      const shown = await pulled.ended()
      t.match(shown, { error: null, error_count: 0, imported_count: TRACES.length, losses: {} })
      const state = await pulls.stateOf(pulled)
      t.same(state.traces, expected.traces)
      t.same(state.scores, expected.scores)
      t.same(state.judged, expected.judged)
      t.equal(double.faultsLeft(), 0, `it met ${double.happened.join(', ')}`)

      const again = await pulls.pull(kind, double, { owner: pulled })
      t.match(await again.ended(), { imported_count: 0, skipped_count: TRACES.length })
      const { traces, scores } = await pulls.stateOf(pulled)
      t.same({ traces, scores }, { traces: state.traces, scores: state.scores })
    })
  }
})

t.test('a later pull brings later scores', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  await service.startWorkers([pullTracesHandler, importTracesHandler])
  const pulls = openPulls(t, service)
  const traces = makePlatformTraces(4)
  const unscored = traces.map((trace, i) => (i % 3 === 0 ? trace : { ...trace, score: null }))
  for (const [name, kind] of Object.entries(DOUBLES)) {
    await t.test(name, async (t) => {
      const later = await kind.start(t, traces)
      const expected = await pulls.stateOfFile(kind, later)
      const pulled = await pulls.pull(kind, await kind.start(t, unscored))
      t.match(await pulled.ended(), { imported_count: 12, scores_imported: 4 })
      const again = await pulls.pull(kind, later, { owner: pulled })
      t.match(await again.ended(), { imported_count: 0, skipped_count: 12, losses: {} })
      t.same((await pulls.stateOf(pulled)).scores, expected.scores)
    })
  }
})
