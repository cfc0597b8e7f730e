import { LARGE_THEN_SMALL, pick } from './agent.ts'
import type { Outcome } from './agent.ts'
import { manifestOf, randomNumbers, recordAttempt, scoresOf, timeInWeek } from './attempt.ts'
import type { Attempt, DemoTrace } from './attempt.ts'
import { sqlAgent } from './sql.ts'
import { supportAgent } from './support.ts'

export interface Demo {
  /** As `POST /manifests` takes them, older versions first; the traces name them by their hashes. */
  readonly manifests: readonly { readonly manifest_hash: string }[]
  readonly traces: readonly DemoTrace[]
  /** As `POST /eval-scores` takes them, of two evaluators; some traces have none. */
  readonly scores: readonly object[]
}

/**
 * Two weeks of two agents. Each task is tried four times from the same prompt, so that good and bad
 * attempts can be compared; the support agent's newer manifest, on a smaller model, does worse. The
 * same at every call but for the times, which end at `now`.
 */
export function makeDemo(now: Date): Demo {
  const random = randomNumbers(20_260_203)
  const traces: DemoTrace[] = []
  const scores: object[] = []
  function add(attempt: Attempt, history?: readonly object[]) {
    const { agent, release, outcome } = attempt
    const place = traces.length
    const traceId = `demo-${String(place + 1).padStart(4, '0')}`
    const weeksAgo = release === 'v2' || (agent === sqlAgent && place % 2 === 0) ? 0 : 1
    const startedAt = timeInWeek(now, random, weeksAgo)
    const recording = { traceId, startedAt, random, history }
    const { trace, messages } = recordAttempt(attempt, recording)
    traces.push(trace)
    if (place % UNSCORED_EVERY !== 0) scores.push(...scoresOf(traceId, outcome, random))
    return messages
  }
  for (let no = 0; no < TASKS; no++) {
    for (let variant = 0; variant < ATTEMPTS; variant++) {
      for (const agent of [supportAgent, sqlAgent]) {
        const release = agent === supportAgent && variant >= ATTEMPTS / 2 ? 'v2' : 'v1'
        const task_id = `${agent.name}-task-${no + 1}`
        add({ agent, no, variant, release, outcome: drawOutcome(release, random), task_id })
      }
    }
  }
  for (let no = TASKS; no < TASKS + SESSIONS; no++) {
    const release = no % 2 === 0 ? 'v1' : 'v2'
    const attempt: Attempt = { agent: supportAgent, no, variant: no, release, outcome: 'good' }
    const session_id = `demo-session-${no}`
    const said = add({ ...attempt, session_id, turn_index: 0 })
    add({ ...attempt, session_id, turn_index: 1 }, said)
  }
  const manifests = [
    manifestOf(supportAgent, 'v1'),
    manifestOf(sqlAgent, 'v1'),
    manifestOf(supportAgent, 'v2'),
  ]
  return { manifests, traces: [...traces, ...resent(traces)], scores }
}

/** What clients do that lose the answer to a request: some traces come again under another id. */
function resent(traces: readonly DemoTrace[]) {
  return Array.from({ length: RESENT }, (_, i) => {
    const trace = pick(traces, 11 + i * 60)
    return { ...trace, trace_id: `${trace.trace_id}-again` }
  })
}

function drawOutcome(release: keyof typeof LARGE_THEN_SMALL, random: () => number): Outcome {
  let left = random()
  for (const [outcome, share] of SHARES[release]) {
    left -= share
    if (left < 0) return outcome
  }
  return 'good'
}

const TASKS = 40
const ATTEMPTS = 4
const SESSIONS = 47
const RESENT = 6
const UNSCORED_EVERY = 12
/** How often each release does what; the rest is good. */
const SHARES: Readonly<
  Record<keyof typeof LARGE_THEN_SMALL, readonly (readonly [Outcome, number])[]>
> = {
  v1: [
    ['recovered', 0.1],
    ['wrong', 0.1],
    ['hasty', 0.08],
    ['broken off', 0.03],
  ],
  v2: [
    ['recovered', 0.08],
    ['wrong', 0.26],
    ['hasty', 0.22],
    ['broken off', 0.05],
  ],
}
