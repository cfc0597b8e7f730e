import t from 'tap'
import { openSimulation } from '../../ops/bench/score-simulation.ts'
import { experiments } from '../../ops/bench/statistics-experiments.ts'

const RUNS = 60

for (const { name, aim, run } of experiments) {
  if (!aim) continue
  t.test(`${name}: meets its aim within three standard deviations`, async (t) => {
    const simulation = openSimulation(11)
    let yes = 0
    for (let i = 0; i < RUNS; i++) if (run(simulation).ours) yes++
    const limit = 'atMost' in aim ? aim.atMost : aim.atLeast
    const tolerance = 3 * Math.sqrt((limit * (1 - limit)) / RUNS)
    if ('atMost' in aim) t.ok(yes / RUNS <= limit + tolerance, `${yes} of ${RUNS}`)
    else t.ok(yes / RUNS >= limit - tolerance, `${yes} of ${RUNS}`)
  })
}
