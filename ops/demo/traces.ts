import { createHash } from 'node:crypto'
import { pick } from './agent.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import { openRecorder } from './recorder.ts'
import { sqlAgent } from './sql.ts'
import { supportAgent } from './support.ts'

/** A trace as a client sends it; see `POST /traces`. */
export interface DemoTrace {
  readonly trace_id: string
  readonly manifest_hash: string
  readonly [member: string]: unknown
}

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
  function add(plan: Plan, history?: readonly object[]) {
    const no = traces.length
    const { trace, messages } = recordTrace(plan, no, now, random, history)
    traces.push(trace)
    if (no % UNSCORED_EVERY !== 0) scores.push(...scoresOf(trace.trace_id, plan.outcome, random))
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
    const plan: Plan = { agent: supportAgent, no, variant: no, release, outcome: 'good' }
    const session_id = `demo-session-${no}`
    const said = add({ ...plan, session_id, turn_index: 0 })
    add({ ...plan, session_id, turn_index: 1 }, said)
  }
  const manifests = [
    manifestOf(supportAgent, 'v1'),
    manifestOf(sqlAgent, 'v1'),
    manifestOf(supportAgent, 'v2'),
  ]
  return { manifests, traces: [...traces, ...resent(traces)], scores }
}

function manifestOf(agent: DemoAgent, release: Release) {
  return {
    agent_name: agent.name,
    manifest_hash: hashOf(agent, release),
    components: [
      { component_type: 'model', component_name: MODELS[release] },
      {
        component_type: 'prompt',
        component_name: 'system',
        schema_json: { content: agent.system },
      },
      ...agent.tools.map(({ function: { name, parameters } }) => ({
        component_type: 'tool',
        component_name: name,
        schema_json: parameters,
      })),
    ],
  }
}

function hashOf({ name }: DemoAgent, release: Release) {
  return createHash('sha256').update(`${name} ${release}`).digest('hex')
}

function recordTrace(
  plan: Plan,
  place: number,
  now: Date,
  random: () => number,
  history: readonly object[] | undefined,
) {
  const { agent, no, variant, release, outcome, task_id, session_id, turn_index } = plan
  const model = MODELS[release]
  const weeks = release === 'v2' || (agent === sqlAgent && place % 2 === 0) ? 0 : 1
  const startedAt = new Date(now.getTime() - (weeks + 0.02 + 0.96 * random()) * WEEK_MS)
  const record = openRecorder({ ...agent, model, startedAt, random, history })
  if (history) agent.followUp(record, no)
  else agent.play(record, no, outcome, variant)
  const trace: DemoTrace = {
    trace_id: `demo-${String(place + 1).padStart(4, '0')}`,
    agent_name: agent.name,
    manifest_hash: hashOf(agent, release),
    ...(task_id && { task_id }),
    ...(session_id && { session_id, turn_index }),
    environment: 'production',
    release,
    tags: ['demo', release],
    status: outcome === 'broken off' ? 'error' : 'success',
    ...(outcome === 'broken off' && {
      error_code: 'model_timeout',
      error_message: 'The model did not answer within 30 s',
    }),
    ...record.end(),
  }
  return { trace, messages: record.messages() }
}

/** What clients do that lose the answer to a request: some traces come again under another id. */
function resent(traces: readonly DemoTrace[]) {
  return Array.from({ length: RESENT }, (_, i) => {
    const trace = pick(traces, 11 + i * 60)
    return { ...trace, trace_id: `${trace.trace_id}-again` }
  })
}

function drawOutcome(release: Release, random: () => number): Outcome {
  let left = random()
  for (const [outcome, share] of SHARES[release]) {
    left -= share
    if (left < 0) return outcome
  }
  return 'good'
}

function scoresOf(trace_id: string, outcome: Outcome, random: () => number) {
  const doubtful = outcome === 'good' && random() < DOUBTFUL_SHARE
  const [low, high] = doubtful ? [0.4, 0.6] : HELPFULNESS[outcome]
  const helpfulness = {
    trace_id,
    source: 'llm_judge',
    source_label: 'judge-large',
    name: 'helpfulness',
    score: Math.round((low + (high - low) * random()) * 100) / 100,
    reason: doubtful ? 'Correct, but hard to follow' : REASONS[outcome],
  }
  if (doubtful) return [helpfulness]
  const passed = outcome === 'good' || outcome === 'recovered'
  const solved = { trace_id, source: 'sdk', name: 'task_solved', score: Number(passed), passed }
  return [helpfulness, solved]
}

/** Numbers from 0 to 1 that look random and are always the same (mulberry32). */
function randomNumbers(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const TASKS = 40
const ATTEMPTS = 4
const SESSIONS = 47
const RESENT = 6
const UNSCORED_EVERY = 12
const DOUBTFUL_SHARE = 0.08
const WEEK_MS = 7 * 86_400_000
const MODELS = { v1: 'example-large-2', v2: 'example-small-3' } as const
/** How often each release does what; the rest is good. */
const SHARES: Readonly<Record<Release, readonly (readonly [Outcome, number])[]>> = {
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
const HELPFULNESS: Readonly<Record<Outcome, readonly [number, number]>> = {
  good: [0.86, 1],
  recovered: [0.78, 0.92],
  wrong: [0.1, 0.3],
  hasty: [0.05, 0.25],
  'broken off': [0, 0.1],
}
const REASONS: Readonly<Record<Outcome, string>> = {
  good: 'Looked it up and answered in full',
  recovered: 'Got there after a tool failed',
  wrong: 'The answer contradicts what was looked up',
  hasty: 'Claims something it did not look up',
  'broken off': 'There is no answer',
}

interface Plan {
  readonly agent: DemoAgent
  /** Number of the task. */
  readonly no: number
  readonly variant: number
  readonly release: Release
  readonly outcome: Outcome
  readonly task_id?: string
  readonly session_id?: string
  readonly turn_index?: number
}
type Release = 'v1' | 'v2'
