import { callsIn, toolCallOf } from './message-calls.ts'
import type { LlmCall, MessageToolCall, ToolCall } from './trace.ts'

/**
 * The tool calls that stand only in the messages given to the last of these LLM calls, with their results:
 * the conversation was recorded once, at its end. A call of a message is recorded elsewhere when one in
 * `tool_calls` has its id or, where one of the two has no id, its name.
 */
export function renderedCalls(calls: readonly LlmCall[]): ToolCall[] {
  const messages = calls.at(-1)?.rendered_input ?? []
  const asked = messages.flatMap(callsIn)
  if (asked.length === 0) return []
  const isRecorded = openRecorded(calls)
  const results = new Map(
    messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id: id, content }) => [id, content ?? null]),
  )
  return asked
    .filter((call) => !isRecorded(call))
    .map((call) => toolCallOf(call, (call.id && results.get(call.id)) ?? null))
}

/** Tells for one call after the other whether it is recorded; each recorded one stands for one at most. */
function openRecorded(calls: readonly LlmCall[]) {
  const recorded = calls.flatMap(({ tool_calls }) => tool_calls)
  const ids = new Set(recorded.map(({ id }) => id))
  const withId = countNames(recorded.filter(({ id }) => id !== null))
  const withoutId = countNames(recorded.filter(({ id }) => id === null))
  const takeFrom = (counts: Map<string, number>, name: string) => {
    const left = counts.get(name) ?? 0
    counts.set(name, left - 1)
    return left > 0
  }
  return ({ id, function: { name } }: MessageToolCall) => {
    if (id !== undefined && ids.has(id)) return true
    return takeFrom(withoutId, name) || (id === undefined && takeFrom(withId, name))
  }
}

function countNames(calls: readonly ToolCall[]) {
  const counts = new Map<string, number>()
  for (const { tool_name } of calls) counts.set(tool_name, (counts.get(tool_name) ?? 0) + 1)
  return counts
}
