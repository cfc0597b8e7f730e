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
  /** One that the agent has a model for. */
  readonly release: string
  readonly outcome: Outcome
  readonly task_id?: string
  readonly session_id?: string
  readonly turn_index?: number
}

export interface Recording {
  readonly traceId: string
  readonly startedAt: Date
  /** As of `randomNumbers`. */
  readonly random: () => number
  /** What was said in the conversation before. */
  readonly history?: readonly object[] | undefined
}

/** A version of an agent, as `POST /manifests` takes it. */
export function manifestOf(agent: DemoAgent, release: string) {
  return {
    agent_name: agent.name,
    manifest_hash: hashOf(agent, release),
    is_closed_world: agent.is_closed_world ?? false,
    components: [
      { component_type: 'model', component_name: agent.models[release] },
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
      ...(agent.components ?? []),
    ],
  }
}

export function hashOf({ name }: Pick<DemoAgent, 'name'>, release: string) {
  return createHash('sha256').update(`${name} ${release}`).digest('hex')
}

/** Records an attempt as a client library would, and all that was said in it. */
export function recordAttempt(attempt: Attempt, recording: Recording) {
  const { agent, no, variant, release, outcome, task_id, session_id, turn_index } = attempt
  const { traceId, startedAt, random, history } = recording
  const model = agent.models[release] ?? ''
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

/** A time that looks random, in a stretch of days before `now`. */
export function timeWithin(
  now: Date,
  random: () => number,
  { from, to }: { readonly from: number; readonly to: number },
) {
  return new Date(now.getTime() - (to + (from - to) * random()) * DAY_MS)
}

/** A time in a week: 0 is the one that ends now. */
export function timeInWeek(now: Date, random: () => number, weeksAgo: number) {
  const [from, to] = [weeksAgo + 0.98, weeksAgo + 0.02].map((weeks) => weeks * 7)
  return timeWithin(now, random, { from: from ?? 0, to: to ?? 0 })
}

/**
 * Scores of a judge and of a check, as `POST /eval-scores` takes them.
 * @param doubtfulShare of good attempts, those whose answer is hard to follow
 */
export function scoresOf(
  trace_id: string,
  outcome: Outcome,
  random: () => number,
  doubtfulShare = DOUBTFUL_SHARE,
) {
  const doubtful = outcome === 'good' && random() < doubtfulShare
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
