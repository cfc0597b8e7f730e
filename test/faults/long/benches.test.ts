import t from 'tap'
import { BENCHES } from '../../../ops/bench/benches.ts'
import { checkFigures } from '../../support/bench-figures.ts'
import { serverUrl } from '../../support/cluster.ts'

t.test('every bench runs and reports figures', async (t) => {
  const env = { ...process.env, DATABASE_URL: await serverUrl() }
  for (const bench of BENCHES) await t.test(bench.name, (t) => checkFigures(t, bench, env))
})
