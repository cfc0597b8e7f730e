import { writeFile } from 'node:fs/promises'
import { findSuspects } from '../../jobs/rules/regression/bisect.ts'
import { report, round } from './figures.ts'
import { CLUSTERS, coverages, coverOf } from './interval-coverage.ts'
import type { Coverage } from './interval-coverage.ts'
import { readOptions } from './options.ts'
import { openSimulation } from './score-simulation.ts'
import { experiments } from './statistics-experiments.ts'
import type { Experiment } from './statistics-experiments.ts'

/**
 * Repeats every experiment and prints two tables: the share of runs in which our rules and a fixed
 * threshold said yes, on the same simulated scores; and how often an interval holds the true mean.
 */
async function main() {
  const sizes = { runs: [1000, 4], seed: [1, 1] } as const
  const { runs, seed, out } = readOptions(sizes, { out: { type: 'string' } })
  const measured = experiments.map((experiment, i) => measure(experiment, runs, seed + i))
  const text = [
    '| what is simulated | aim | ours | fixed threshold |',
    '|---|---|---|---|',
    ...measured.map(({ row }) => row),
    '',
    ...timings(seed),
    '',
    `| scores | aim | ${CLUSTERS.map((clusters) => `${clusters} clusters`).join(' | ')} |`,
    `|---|---|${'---|'.repeat(CLUSTERS.length)}`,
    ...coverages.map((each, i) => measureCoverage(each, runs, seed + i)),
  ].join('\n')
  if (out) await writeFile(out, `${text}\n`)
  else process.stdout.write(`${text}\n`)
  const aimed = measured.flatMap(({ isMet }) => isMet ?? [])
  report({
    what: 'experiments of checks and bisection at their aim',
    ratio: round(share(aimed)),
    figures: `${aimed.filter(Boolean).length} of ${aimed.length}, ${runs} runs each`,
  })
}

function measure({ name, aim, run }: Experiment, runs: number, seed: number) {
  const simulation = openSimulation(seed)
  const outcomes = Array.from({ length: runs }, () => run(simulation))
  const ours = share(outcomes.map(({ ours }) => ours))
  const compared = outcomes.flatMap(({ threshold }) => threshold ?? [])
  const theirs = compared.length > 0 ? percent(share(compared)) : ''
  const isMet = aim && ('atMost' in aim ? ours <= aim.atMost : ours >= aim.atLeast)
  return { isMet, row: `| ${name} | ${showAim(aim)} | ${percent(ours)} | ${theirs} |` }
}

function measureCoverage(each: Coverage, runs: number, seed: number) {
  const simulation = openSimulation(seed)
  const shares = CLUSTERS.map((clusters) => percent(coverOf(simulation, each, clusters, runs)))
  return `| ${each.name} | ${each.isClaimed ? '93 to 97 %' : ''} | ${shares.join(' | ')} |`
}

/** How long the scan of one metric takes, without a change and with one. */
function timings(seed: number) {
  return ([0.75, 0.65] as const).map((mean) => {
    const simulation = openSimulation(seed)
    const episodes = Array.from({ length: 50 }, (_, k) =>
      simulation.activation(k, { kind: 'judge', mean: k < 25 ? 0.75 : mean, n: 200 }),
    )
    const startedAt = performance.now()
    findSuspects(episodes, seed)
    const ms = Math.round(performance.now() - startedAt)
    return `50 activations of 200 sessions, ${mean === 0.75 ? 'unchanged' : 'one drop'}: ${ms} ms.  `
  })
}

function share(answers: readonly boolean[]) {
  return answers.filter(Boolean).length / answers.length
}

function percent(share: number) {
  return `${(100 * share).toFixed(1)} %`
}

function showAim(aim: Experiment['aim']) {
  if (!aim) return ''
  return 'atMost' in aim ? `<= ${percent(aim.atMost)}` : `>= ${percent(aim.atLeast)}`
}

await main()
