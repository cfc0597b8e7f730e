import t from 'tap'
import {
  findSuspects,
  looksDue,
  prepareActivations,
} from '../../../../jobs/rules/regression/bisect.ts'
import type { Activation } from '../../../../jobs/rules/regression/bisect.ts'
import { openSimulation } from '../../../../ops/bench/score-simulation.ts'

const JUDGE = { kind: 'judge', mean: 0.75, n: 60 } as const

/** A history of versions, each with its mean. */
function history(means: readonly number[], n = 100, seed = 1): Activation[] {
  const simulation = openSimulation(seed)
  return means.map((mean, k) => simulation.activation(k, { ...JUDGE, mean, n }))
}

t.test('the version after which scores fell is named, with what it fell from', async (t) => {
  const [suspect, ...others] = findSuspects(history([0.8, 0.8, 0.8, 0.6, 0.6]), 7)
  t.match(suspect, { activation: 3, cause: 'version', credible: [3] })
  t.ok(suspect && suspect.delta < -0.15 && suspect.relative_delta && suspect.relative_delta < 0)
  t.ok(suspect && Math.abs(suspect.reference.mean - 0.8) < 0.05 && suspect.p_value < 1e-6)
  t.same(others, [])
})

t.test('scores that rose are nobody’s fault', async (t) => {
  t.same(findSuspects(history([0.6, 0.6, 0.6, 0.8, 0.8]), 7), [])
})

t.test('a fall that was made good later is still found', async (t) => {
  const suspects = findSuspects(history([0.8, 0.8, 0.8, 0.55, 0.55, 0.8, 0.8, 0.8]), 7)
  t.same(
    suspects.map(({ activation }) => activation),
    [3],
  )
})

t.test('a fall in the middle of a version blames none', async (t) => {
  const activations = history([0.8, 0.8, 0.8, 0.8, 0.5, 0.5], 200)
  const [, , , middle, after] = activations
  const sessions = [
    ...(middle?.sessions.slice(0, 100) ?? []),
    ...(after?.sessions.slice(0, 100) ?? []),
  ]
  activations[3] = { ...(middle as Activation), sessions }
  t.match(findSuspects(activations, 7), [{ cause: 'drift', credible: [] }])
})

t.test('equal scores and an equal seed give equal suspects', async (t) => {
  const activations = history([0.75, 0.75, 0.65, 0.65], 60)
  t.same(findSuspects(activations, 5), findSuspects(activations, 5))
})

t.test('scores that never vary neither fail nor blame', async (t) => {
  const flat = history([0.8, 0.8, 0.8]).map((activation) => ({
    ...activation,
    sessions: activation.sessions.map((session) => ({ ...session, value: 1 })),
  }))
  t.same(findSuspects(flat, 1), [])
})

t.test('the newest version is tested on what it had at its last look', async (t) => {
  const upTo = (n: number) => {
    const activations = history([0.8, 0.8, 0.6], 130)
    const newest = activations[2] as Activation
    return [...activations.slice(0, 2), { ...newest, sessions: newest.sessions.slice(0, n) }]
  }
  t.same(
    [29, 30, 59, 60, 130].map((n) => looksDue(upTo(n)[2] as Activation)),
    [0, 1, 1, 2, 3],
  )
  t.equal(prepareActivations(upTo(29)).length, 2)
  t.same(prepareActivations(upTo(59)), prepareActivations(upTo(30)))
  t.same(prepareActivations(upTo(130)).at(-1)?.sessions.length, 120)
})

t.test('a version of few sessions is taken together with the next one', async (t) => {
  const [a, b, c] = history([0.8, 0.8, 0.8], 60) as [Activation, Activation, Activation]
  const short = { ...b, sessions: b.sessions.slice(0, 7) }
  const prepared = prepareActivations([a, short, c])
  t.same(
    prepared.map(({ manifest_id, sessions }) => [manifest_id, sessions.length]),
    [
      ['m0', 60],
      ['m2', 67],
    ],
  )
})

t.test('tasks that come and go do not pass for a change', async (t) => {
  const simulation = openSimulation(3)
  const activations = history([0.8, 0.8, 0.8, 0.8]).map((activation, k) => ({
    ...activation,
    sessions: activation.sessions.map((session, i) => {
      const isHard = i % 10 < (k < 2 ? 3 : 7)
      const value = simulation.score('judge', isHard ? 0.5 : 0.9)
      return { ...session, task_id: isHard ? 'hard' : 'easy', value }
    }),
  }))
  t.same(findSuspects(activations, 7), [])
})
