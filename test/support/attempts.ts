import { makeAttempt } from '../../jobs/rules/datasets/attempts.ts'
import type { Attempt, Tried } from '../../jobs/rules/datasets/attempts.ts'
import type { TrainingMessage } from '../../jobs/rules/datasets/messages.ts'
import { openToolReader } from '../../jobs/rules/datasets/tools.ts'
import type { Toolbox } from '../../jobs/rules/datasets/tools.ts'
import { tool } from './training-rows.ts'

/** Messages written as `u:text`, `a:text`, `t:text`, `s:text`, and `c:name` for a call without arguments. */
export function attempt(no: number, quality: number, ...said: string[]): Attempt {
  return attemptWith(toolbox(), { index: no, quality }, said)
}

/** The trace of an attempt is `t-` and its index, unless told. */
export function attemptWith(
  tools: Toolbox,
  { index, quality, ...more }: Partial<Tried> & Pick<Tried, 'index' | 'quality'>,
  said: readonly string[],
): Attempt {
  const trace_id = `t-${index}`
  const place = { index, quality, splitIndex: 0, trace_id, source_trace_id: null, ...more }
  return makeAttempt(place, { messages: said.map(asMessage), leftOut: 0 }, tools)
}

/** The tools that calls declared, without rules for their arguments; none for those that declared none. */
export function toolbox(...names: string[]): Toolbox {
  const tools = names.map((name) => tool(name, { type: 'object' }))
  return openToolReader()([{ tools }] as never)
}

function asMessage(one: string): TrainingMessage {
  const content = one.slice(2)
  if (one.startsWith('c:')) {
    return { role: 'assistant', content: null, tool_calls: [callOf(content)], weight: 1 }
  }
  const role = ROLES[one[0] as keyof typeof ROLES]
  return { role, content, weight: role === 'assistant' ? 1 : 0 }
}

function callOf(name: string) {
  return { id: 'call_1', name, arguments: '{}', canonical: '{}', parsed: {} }
}

const ROLES = { u: 'user', a: 'assistant', t: 'tool', s: 'system' } as const
