import { createHash } from 'node:crypto'
import { DAY_MS } from '../core/time.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import { openRecorder } from './recorder.ts'

/** A trace as a client sends it; see `POST /traces`. */
export interface DemoTrace {
  readonly trace_id: string
  readonly manifest_hash: string
  readonly [member: string]: unknown
}

/** An attempt of an agent at a task. */
export interface Attempt {
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

export interface Recording {
  readonly traceId: string
  /** Whole weeks before the one in which the attempt started. */
  readonly weeksAgo: number
  readonly now: Date
  /** As of `randomNumbers`. */
  readonly random: () => number
  /** What was said in the conversation before. */
  readonly history?: readonly object[] | undefined
}

/** The newer one runs on a smaller model. */
export type Release = 'v1' | 'v2'

/** A version of an agent, as `POST /manifests` takes it. */
export function manifestOf(agent: DemoAgent, release: Release) {
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

/** Records an attempt as a client library would, and all that was said in it. */
export function recordAttempt(attempt: Attempt, recording: Recording) {
  const { agent, no, variant, release, outcome, task_id, session_id, turn_index } = attempt
  const { traceId, weeksAgo, now, random, history } = recording
  const model = MODELS[release]
  const startedAt = new Date(now.getTime() - (weeksAgo + 0.02 + 0.96 * random()) * WEEK_MS)
  const record = openRecorder({ ...agent, model, startedAt, random, history })
  if (history) agent.followUp(record, no)
  else agent.play(record, no, outcome, variant)
  const trace: DemoTrace = {
    trace_id: traceId,
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

/** Scores of a judge and of a check, as `POST /eval-scores` takes them. */
export function scoresOf(trace_id: string, outcome: Outcome, random: () => number) {
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
export function randomNumbers(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const WEEK_MS = 7 * DAY_MS
const MODELS = { v1: 'example-large-2', v2: 'example-small-3' } as const
const DOUBTFUL_SHARE = 0.08
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
