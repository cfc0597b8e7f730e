import { pick } from './agent.ts'
import type { Outcome } from './agent.ts'
import { manifestOf, randomNumbers, recordAttempt, scoresOf, timeWithin } from './attempt.ts'
import type { DemoTrace } from './attempt.ts'
import { BILLING_RELEASES, BREAKING_RELEASE, HARMLESS_RELEASE } from './billing.ts'
import type { BillingRelease } from './billing.ts'
import { SKILL_IN_USE } from './library.ts'
import { triageIdOf } from './triage.ts'

export type ScoredTrace = DemoTrace & { readonly scores: readonly object[] }

/**
 * Two weeks of the billing agent in six releases, of which two did worse than the one before. The same
 * at every call but for the times, which end at `now`.
 */
export function makeBilling(now: Date) {
  const random = randomNumbers(20_260_611)
  const stages = STAGES.map((labels) => {
    const releases = BILLING_RELEASES.filter(({ label }) => labels.includes(label))
    const traces = releases.flatMap((release) =>
      Array.from({ length: TRACES_OF_EACH }, (_, i) =>
        recordTask(release, { i, random, now }),
      ).flat(),
    )
    return {
      /** As `POST /manifests` takes them, the oldest first. */
      manifests: releases.map(({ agent, label }) => manifestOf(agent, label)),
      /** As `POST /traces/batch` takes them. */
      traces: [...traces, ...resent(traces), ...rephrased(traces)],
    }
  })
  return {
    /** What ran until somebody looked whether the agent does worse. */
    stages,
    /** As `POST /manifests` takes a draft; the first breaks recorded traffic. */
    candidates: [BREAKING_RELEASE, HARMLESS_RELEASE].map(({ agent, label }) =>
      manifestOf(agent, label),
    ),
  }
}

/** What a runner of the newest release makes of a trace of an older one; `no` tells how it goes. */
export function replayBilling(traceId: string, no: number, now: Date) {
  const release = BILLING_RELEASES.at(-1) as BillingRelease
  const random = randomNumbers(no)
  const outcome = pick(REPLAYED, no)
  const attempt = { agent: release.agent, no: taskOf(traceId), variant: 2, outcome }
  const { trace } = recordAttempt(
    { ...attempt, release: release.label },
    { traceId: `${traceId}-replay`, startedAt: now, random },
  )
  return { ...trace, scores: scoresOf(`${traceId}-replay`, outcome, random, 0) }
}

function recordTask(
  release: BillingRelease,
  { i, random, now }: { i: number; random: () => number; now: Date },
): ScoredTrace[] {
  const { agent, label, ran } = release
  const task = taskOfPlace(BILLING_RELEASES.indexOf(release), i)
  const traceId = `billing-${label}-${String(i + 1).padStart(3, '0')}`
  const outcome = pick(OUTCOMES[label] ?? [], i * 7)
  const startedAt = timeWithin(now, random, ran ?? { from: 1, to: 0 })
  const goesOn = i % GOES_ON_EVERY === 0 && outcome === 'good'
  const session_id = `billing-session-${task + 1}`
  const attempt = { agent, no: task, variant: i % 2, release: label, outcome }
  const { trace, messages } = recordAttempt(
    {
      ...attempt,
      task_id: `billing-task-${task + 1}`,
      ...(goesOn && { session_id, turn_index: 0 }),
    },
    { traceId, startedAt, random },
  )
  const more = {
    user_id: `customer-${task % 90}`,
    ...(i % 3 === 0 && { parent_trace_id: triageIdOf(task) }),
    ...(label === 'v6' && { active_skills: [SKILL_IN_USE] }),
  }
  const scores = scoresOf(traceId, outcome, random, i % DOUBTED_EVERY === 8 ? 1 : 0)
  if (outcome === 'good' && i % DISPUTED_EVERY === 4) scores.push(disputeOf(traceId))
  const first = { ...trace, ...more, scores }
  if (!goesOn) return [first]
  const second = recordAttempt(
    { ...attempt, session_id, turn_index: 1 },
    {
      traceId: `${traceId}-turn-2`,
      startedAt: new Date(startedAt.getTime() + 90_000),
      random,
      history: messages,
    },
  )
  return [
    first,
    { ...second.trace, ...more, scores: scoresOf(`${traceId}-turn-2`, 'good', random, 0) },
  ]
}

/** A second judge, which does not agree with the first. */
function disputeOf(trace_id: string) {
  const reason = 'The amount in the answer is not one that was looked up'
  return { trace_id, source: 'deepeval', name: 'faithfulness', score: 0.15, passed: false, reason }
}

/** What a client sent again under another id because it lost the answer. */
function resent(traces: readonly ScoredTrace[]) {
  return Array.from({ length: RESENT }, (_, i) => {
    const trace = pick(traces, 40 + i * 60)
    return { ...trace, trace_id: `${trace.trace_id}-again`, scores: [] }
  })
}

/** What customers sent again in nearly the same words. */
function rephrased(traces: readonly ScoredTrace[]): ScoredTrace[] {
  return traces
    .filter(({ llm_calls: calls }) => JSON.stringify(calls).includes(REPHRASED))
    .filter((_, i) => i % REPHRASED_EVERY === 0)
    .map((trace) => {
      const trace_id = `${trace.trace_id}-rephrased`
      const text = JSON.stringify(trace).replaceAll(REPHRASED, `${REPHRASED.slice(0, -1)} soon?`)
      const { scores, ...copy } = JSON.parse(text) as ScoredTrace
      return { ...copy, trace_id, scores: scores.map((score) => ({ ...score, trace_id })) }
    })
}

/** Each task is tried twice by one release. */
function taskOfPlace(place: number, i: number) {
  return Math.floor((place * TRACES_OF_EACH + i) / 2)
}

/** Of the id of one of the traces. */
function taskOf(traceId: string) {
  const [, label, number] = traceId.split('-')
  const place = BILLING_RELEASES.findIndex((release) => release.label === label)
  return taskOfPlace(place, Number(number) - 1)
}

const STAGES = [
  ['v1', 'v2'],
  ['v3', 'v4'],
  ['v5', 'v6'],
]
const TRACES_OF_EACH = 110
const GOES_ON_EVERY = 10
const DISPUTED_EVERY = 110
const DOUBTED_EVERY = 100
const RESENT = 2
const REPHRASED = 'Can you sort that out?'
const REPHRASED_EVERY = 9
const GOOD = Array<Outcome>(16).fill('good')
/** How twenty attempts in a row go. */
const WELL: readonly Outcome[] = [...GOOD, 'recovered', 'recovered', 'wrong', 'hasty']
const WORSE: readonly Outcome[] = [
  ...GOOD.slice(2),
  'recovered',
  'hasty',
  'broken off',
  'wrong',
  'wrong',
  'hasty',
]
const OUTCOMES: Readonly<Record<string, readonly Outcome[]>> = {
  v1: WELL,
  v2: WORSE,
  v3: WELL,
  v4: WELL,
  v5: WORSE,
  v6: WORSE,
}
const REPLAYED: readonly Outcome[] = ['good', 'wrong', 'good', 'good', 'hasty', 'good', 'recovered']
