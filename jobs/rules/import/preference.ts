import { isObject } from '../core/reader.ts'
import { PREFERENCE } from '../datasets/pairs.ts'
import type { Members, Refusal } from './format.ts'
import { fingerprint, ownTraceId } from './format.ts'

/** Whether a person compared two answers in this row. */
export function isPreference(record: Members) {
  return SIDES.some(({ member }) => record[member] !== undefined)
}

/**
 * The two conversations of a row `{input: {messages}, preferred_output, non_preferred_output}`: attempts
 * at one task, which its input decides, each with the score that says which one was preferred. `pair_id`
 * tells apart the pairs of one input.
 */
export function splitPreference(record: Members): readonly Members[] | Refusal {
  const { input, preferred_output, non_preferred_output, trace_id: _, id: __, ...rest } = record
  const pair_id = fingerprint([input, preferred_output, non_preferred_output])
  const task_id = rest['task_id'] ?? `preference-${fingerprint(input)}`
  const own = ownTraceId(record) ?? `preference-${pair_id}`
  const made: Members[] = []
  for (const { member, label, score } of SIDES) {
    const output = messagesOf(record[member])
    if (output.length === 0) {
      return { code: 'invalid_record', message: `${member} must be a list of messages` }
    }
    const told = { score, label, source: 'human', identifier: PREFERENCE, metadata: { pair_id } }
    made.push({
      ...rest,
      trace_id: typeof own === 'string' || typeof own === 'number' ? `${own}-${label}` : own,
      task_id,
      input: withMessages(input, output),
      eval_scores: withScore(rest['eval_scores'], told),
    })
  }
  return made
}

function messagesOf(output: unknown): readonly unknown[] {
  if (Array.isArray(output)) return output
  if (typeof output === 'string') return [{ role: 'assistant', content: output }]
  return isObject(output) ? [output] : []
}

/** What is no list is left for the check of the record to refuse. */
function withMessages(input: unknown, output: readonly unknown[]) {
  if (!isObject(input) || !Array.isArray(input['messages'])) return input
  return { ...input, messages: [...(input['messages'] as unknown[]), ...output] }
}

function withScore(scores: unknown, told: object) {
  if (Array.isArray(scores)) return [...(scores as unknown[]), { ...told, name: PREFERENCE }]
  return isObject(scores) ? { ...scores, [PREFERENCE]: told } : { [PREFERENCE]: told }
}

const SIDES = [
  { member: 'preferred_output', label: 'preferred', score: 1 },
  { member: 'non_preferred_output', label: 'non_preferred', score: 0 },
] as const
