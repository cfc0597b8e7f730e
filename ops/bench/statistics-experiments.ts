import {
  findSuspects,
  isRecovered,
  prepareActivations,
} from '../../jobs/rules/regression/bisect.ts'
import type { Activation } from '../../jobs/rules/regression/bisect.ts'
import { checkMetrics } from '../../jobs/rules/regression/metric-check.ts'
import type { MeasuredMetric, MetricCheck } from '../../jobs/rules/regression/metric-check.ts'
import { compareArms, summarize } from '../../jobs/rules/regression/statistics.ts'
import type { Observation } from '../../jobs/rules/regression/statistics.ts'
import { toSessions } from './score-simulation.ts'
import type { Simulation, Traffic } from './score-simulation.ts'

/** What one simulated history or check came to: ours, and what a fixed threshold says of the same. */
export interface Outcome {
  readonly ours: boolean
  /** Undefined where there is no such rule to compare with. */
  readonly threshold?: boolean
}

/** A share of all runs, with the aim it has to meet. */
export interface Experiment {
  readonly name: string
  readonly aim: { readonly atMost: number } | { readonly atLeast: number } | null
  readonly run: (simulation: Simulation) => Outcome
}

const JUDGE: Traffic = { kind: 'judge', mean: 0.75, n: 60 }
const BINARY: Traffic = { kind: 'binary', mean: 0.85, n: 60 }
const SESSIONS = { size: 3, icc: 0.3 }
const DROP = 0.1

export const experiments: readonly Experiment[] = [
  ...[30, 60, 120].flatMap((n) =>
    [JUDGE, BINARY].flatMap((traffic) => [
      unchanged({ ...traffic, n }),
      unchanged({ ...traffic, n, ...SESSIONS }),
    ]),
  ),
  dropFound('drop of .1 found, 30 pairs of replays, judge', { atLeast: 0.81 }, pairedChecks),
  dropFound('drop of .1 found, 30 traces an arm, unpaired, judge', null, unpairedChecks),
  {
    name: 'mix of 4 tasks shifts, nothing else changed, 300 traces an arm',
    aim: { atMost: 0.05 },
    run: shiftMix,
  },
  {
    name: '8 unchanged metrics, any of them flagged, 100 traces an arm',
    aim: { atMost: 0.05 },
    run: checkEight,
  },
  {
    name: 'unchanged newest version, any of 5 looks up to 480 traces alerts',
    aim: { atMost: 0.05 },
    run: (simulation) => lookRepeatedly(simulation, { ...JUDGE, n: 480 }),
  },
  history('12 unchanged versions, judge, n = 60', { atMost: 0.05 }, [JUDGE], anySuspect),
  history(
    '12 unchanged versions, judge, n = 60, sessions of 3',
    { atMost: 0.05 },
    [{ ...JUDGE, ...SESSIONS }],
    anySuspect,
  ),
  history('12 unchanged versions, binary, n = 60', { atMost: 0.05 }, [BINARY], anySuspect),
  history(
    'drop of .1 at version 7 of 12, judge, n = 60: exactly it',
    { atLeast: 0.9 },
    [JUDGE, lower(JUDGE)],
    blamed(0),
  ),
  history(
    'drop of .1 at version 7 of 12, judge, n = 60: it or a neighbour',
    { atLeast: 0.98 },
    [JUDGE, lower(JUDGE)],
    blamed(1),
  ),
  {
    name: 'drop of .1 in the newest version, judge, alert by n = 120',
    aim: { atLeast: 0.95 },
    run: (simulation) => lookRepeatedly(simulation, { ...lower(JUDGE), n: 120 }),
  },
  {
    name: 'drop of .1 in the middle of version 5 of 8, judge, n = 120: a version is blamed',
    aim: null,
    run: driftInside,
  },
  {
    name: 'judge back at its level, 240 traces: resolved',
    aim: { atLeast: 0.9 },
    run: (simulation) => recover(simulation, JUDGE.mean),
  },
  {
    name: 'judge still .1 lower, 240 traces: resolved',
    aim: { atMost: 0.05 },
    run: (simulation) => recover(simulation, JUDGE.mean - DROP),
  },
  {
    name: 'nothing changed, judge, 30 tasks of 4 sessions that correlate by .3: flagged',
    aim: { atMost: 0.04 },
    run: (simulation) => checkOnce(tasksOf(simulation), tasksOf(simulation)),
  },
  {
    name: 'nothing changed, judge, n = 60, all of one task: flagged',
    aim: { atMost: 0.04 },
    run: (simulation) => checkOnce(oneTask(simulation), oneTask(simulation)),
  },
  {
    name: 'drop of the size of mde found, normal scores, n = 60',
    aim: { atLeast: 0.78 },
    run: (simulation) => dropOfMde((mean) => normalScores(simulation, mean)),
  },
  {
    name: 'drop of the size of mde found, judge, n = 120, sessions of 3',
    aim: null,
    run: (simulation) =>
      dropOfMde((mean) => simulation.arm({ ...JUDGE, ...SESSIONS, mean, n: 120 })),
  },
]

function unchanged(traffic: Traffic): Experiment {
  const { kind, n, size = 1 } = traffic
  return {
    name: `nothing changed, ${kind}, n = ${n}${size > 1 ? `, sessions of ${size}` : ''}: flagged`,
    aim: { atMost: 0.04 },
    run: (simulation) => checkOnce(simulation.arm(traffic), simulation.arm(traffic)),
  }
}

function checkOnce(baseline: readonly Observation[], candidate: readonly Observation[]): Outcome {
  const [check] = checkMetrics([measured({ baseline, candidate })])
  return { ours: check?.verdict === 'regressed', threshold: isBelow(check, PEERS_DELTA) }
}

/** Every trace is a session of its own; those of a task correlate. */
function tasksOf(simulation: Simulation): Observation[] {
  const traces = simulation.arm({ ...JUDGE, n: 120, size: 4, icc: 0.3 })
  return traces.map((each) => ({ ...each, task_id: each.session_id, session_id: each.trace_id }))
}

function oneTask(simulation: Simulation): Observation[] {
  return simulation.arm({ ...JUDGE, n: 60 }).map((each) => ({ ...each, task_id: 'only' }))
}

/** What an unchanged check says it could have shown is there in the next one. */
function dropOfMde(arm: (mean: number) => Observation[]): Outcome {
  const [unchanged] = checkMetrics([
    measured({ baseline: arm(JUDGE.mean), candidate: arm(JUDGE.mean) }),
  ])
  const dropped = JUDGE.mean - (unchanged?.mde ?? 0)
  const [check] = checkMetrics([measured({ baseline: arm(JUDGE.mean), candidate: arm(dropped) })])
  return { ours: check?.verdict === 'regressed' }
}

function normalScores(simulation: Simulation, mean: number): Observation[] {
  return Array.from({ length: 60 }, (_, i) => ({
    trace_id: `t${i}`,
    session_id: null,
    task_id: null,
    value: mean + 0.18 * simulation.normal(),
  }))
}

function dropFound(
  name: string,
  aim: Experiment['aim'],
  make: (simulation: Simulation) => MeasuredMetric,
): Experiment {
  const run = (simulation: Simulation) => {
    const [check] = checkMetrics([make(simulation)])
    return { ours: check?.verdict === 'regressed', threshold: isBelow(check, PEERS_DELTA) }
  }
  return { name, aim, run }
}

/** A task is as hard for the replay as it was for its source: half of the deviation is the task's. */
function pairedChecks(simulation: Simulation): MeasuredMetric {
  const pairs = Array.from({ length: 30 }, (_, i) => {
    const difficulty = simulation.score('judge', JUDGE.mean) - JUDGE.mean
    const one = (mean: number) => ({
      trace_id: `t${i}`,
      session_id: null,
      task_id: null,
      value: mean + 0.7 * difficulty + 0.7 * (simulation.score('judge', JUDGE.mean) - JUDGE.mean),
    })
    return { source: one(JUDGE.mean), replay: one(JUDGE.mean - DROP) }
  })
  const [baseline, candidate] = [pairs.map((p) => p.source), pairs.map((p) => p.replay)]
  return measured({ baseline, candidate, pairs })
}

function unpairedChecks(simulation: Simulation): MeasuredMetric {
  const [baseline, candidate] = [
    simulation.arm({ ...JUDGE, n: 30 }),
    simulation.arm({ ...lower(JUDGE), n: 30 }),
  ]
  return measured({ baseline, candidate })
}

function shiftMix(simulation: Simulation): Outcome {
  const arm = (weights: readonly number[]) =>
    Array.from({ length: 300 }, (_, i): Observation => {
      const task = pickByWeight(weights, simulation.uniform())
      const value = simulation.score('binary', TASK_MEANS[task] ?? 0)
      return { trace_id: `t${i}`, session_id: null, task_id: `task${task}`, value }
    })
  return checkOnce(arm([0.4, 0.3, 0.2, 0.1]), arm([0.2, 0.2, 0.3, 0.3]))
}

/** Correlated by one half, as metrics of one trace are. */
function checkEight(simulation: Simulation): Outcome {
  const arm = () => Array.from({ length: 100 }, () => simulation.normal())
  const common = [arm(), arm()]
  const metrics = Array.from({ length: 8 }, (_, k) => {
    const [baseline, candidate] = common.map((shared) =>
      shared.map((z, i) => ({
        trace_id: `t${i}`,
        session_id: null,
        task_id: null,
        value: 0.7 + 0.2 * Math.SQRT1_2 * (z + simulation.normal()),
      })),
    ) as [Observation[], Observation[]]
    return measured({ metric: `m${k}`, baseline, candidate })
  })
  const checks = checkMetrics(metrics)
  return {
    ours: checks.some(({ verdict }) => verdict === 'regressed'),
    threshold: checks.some((check) => isBelow(check, PEERS_DELTA)),
  }
}

/** An alert at any look, against one that a drop of 10 % at any tenth trace gives. */
function lookRepeatedly(simulation: Simulation, traffic: Traffic): Outcome {
  const before = [0, 1, 2].map((k) => simulation.activation(k, { ...JUDGE, n: 100 }))
  const newest = simulation.activation(3, traffic)
  const upTo = (n: number) => [...before, { ...newest, sessions: newest.sessions.slice(0, n) }]
  const alerts = (n: number) =>
    findSuspects(prepareActivations(upTo(n)), n).some(({ activation }) => activation === 3)
  const looks = [30, 60, 120, 240, 480].filter((n) => n <= traffic.n)
  const tenths = Array.from({ length: traffic.n / 10 - 2 }, (_, i) => 30 + 10 * i)
  return {
    ours: looks.some(alerts),
    threshold: tenths.some((n) => isDropOf(upTo(n).slice(-2), PEERS_RELATIVE)),
  }
}

/** The last traffic is that of the later half of twelve versions. */
function history(
  name: string,
  aim: Experiment['aim'],
  [early, late]: readonly Traffic[],
  count: (activations: readonly Activation[], seed: number) => Outcome,
): Experiment {
  return {
    name,
    aim,
    run(simulation) {
      const activations = Array.from({ length: 12 }, (_, k) =>
        simulation.activation(k, (k < 6 ? early : (late ?? early)) as Traffic),
      )
      return count(prepareActivations(activations), Math.floor(simulation.uniform() * 2 ** 31))
    },
  }
}

function anySuspect(activations: readonly Activation[], seed: number): Outcome {
  const pairs = activations.slice(1).map((after, i) => [activations[i] as Activation, after])
  return {
    ours: findSuspects(activations, seed).length > 0,
    threshold: pairs.some((pair) => isDropOf(pair, PEERS_RELATIVE)),
  }
}

/** The fixed threshold succeeds when it marks the version and no other one. */
function blamed(tolerance: number) {
  return (activations: readonly Activation[], seed: number): Outcome => {
    const suspects = findSuspects(activations, seed)
    const near = (k: number) => Math.abs(k - 6) <= tolerance
    const marked = activations
      .keys()
      .filter((k) => k > 0)
      .filter((k) => isDropOf(activations.slice(k - 1, k + 1), PEERS_RELATIVE))
      .toArray()
    return {
      ours: suspects.some(({ activation, cause }) => cause === 'version' && near(activation)),
      threshold: marked.length > 0 && marked.every(near),
    }
  }
}

function driftInside(simulation: Simulation): Outcome {
  const activations = Array.from({ length: 8 }, (_, k) =>
    simulation.activation(k, { ...(k > 4 ? lower(JUDGE) : JUDGE), n: 120 }),
  )
  const half = (traffic: Traffic) => toSessions(simulation.arm({ ...traffic, n: 60 }))
  const drifting = {
    ...(activations[4] as Activation),
    sessions: [...half(JUDGE), ...half(lower(JUDGE))],
  }
  activations[4] = drifting
  const suspects = findSuspects(
    prepareActivations(activations),
    Math.floor(simulation.uniform() * 1e9),
  )
  return { ours: suspects.some(({ cause }) => cause === 'version') }
}

function recover(simulation: Simulation, mean: number): Outcome {
  const reference = summarize(simulation.arm({ ...JUDGE, n: 300 }))
  return { ours: isRecovered(reference, simulation.arm({ ...JUDGE, mean, n: 240 })) }
}

function measured(metric: Partial<MeasuredMetric>): MeasuredMetric {
  return { metric: 'score', gating: true, baseline: [], candidate: [], pairs: [], ...metric }
}

function lower(traffic: Traffic): Traffic {
  return { ...traffic, mean: traffic.mean - DROP }
}

function isBelow(check: MetricCheck | undefined, delta: number) {
  return check !== undefined && check.raw_delta <= delta
}

function isDropOf(pair: readonly Activation[], share: number) {
  const [before, after] = pair.map(({ sessions }) => sessions)
  if (!before || !after) return false
  const { baseline, raw_delta } = compareArms(before, after)
  return raw_delta <= -share * baseline.mean
}

function pickByWeight(weights: readonly number[], at: number) {
  let covered = 0
  return weights.findIndex((weight) => (covered += weight) > at)
}

const TASK_MEANS = [0.95, 0.9, 0.8, 0.6]
/** What evaluation platforms commonly ship: a mean that is lower by this much is a regression. */
const PEERS_DELTA = -0.05
const PEERS_RELATIVE = 0.1
