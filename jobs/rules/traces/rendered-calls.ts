import { callsIn, openArgumentBudget, toolCallOf } from './message-calls.ts'
import type { LlmCall, MessageToolCall, ToolCall } from './trace.ts'

/**
 * The tool calls that stand only in the messages given to the last of these LLM calls, with their results:
 * the conversation was recorded once, at its end. What the messages of the first of several LLM calls ask
 * for was there before the trace. A call of a message is recorded elsewhere when one in `tool_calls` has
 * its id or, where the ids tell nothing, its name.
 */
export function renderedCalls(calls: readonly LlmCall[]): ToolCall[] {
  const messages = calls.at(-1)?.rendered_input ?? []
  const asked = askedInMessages(calls)
  if (asked.length === 0) return []
  const budget = openArgumentBudget()
  const results = new Map(
    messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id: id, content }) => [id, content ?? null]),
  )
  return asked.map((call) => toolCallOf(call, (call.id && results.get(call.id)) ?? null, budget))
}

/** The calls of `renderedCalls` as the messages have them. */
export function askedInMessages(calls: readonly LlmCall[]): MessageToolCall[] {
  const asked = (calls.at(-1)?.rendered_input ?? []).flatMap(callsIn)
  if (asked.length === 0) return []
  const isKnown = openKnown(calls, asked)
  return asked.filter((call) => !isKnown(call))
}

/**
 * Tells for one asked call after the other whether it is recorded or from before; by name, each known
 * one stands for one at most.
 */
function openKnown(calls: readonly LlmCall[], asked: readonly MessageToolCall[]) {
  const recorded = calls.flatMap(({ tool_calls }) => tool_calls)
  const earlier = calls.length > 1 ? (calls[0]?.rendered_input.flatMap(callsIn) ?? []) : []
  const ids = new Set([...recorded, ...earlier].map(({ id }) => id))
  // What the conversation has under its own id stands for no other call.
  const told = new Set([...asked, ...callsIn(calls.at(-1)?.output ?? {})].map(({ id }) => id))
  const left = countEach([
    ...recorded.filter(({ id }) => !id || !told.has(id)).map(({ tool_name }) => tool_name),
    ...earlier.filter(({ id }) => !id).map((call) => call.function.name),
  ])
  return ({ id, function: { name } }: MessageToolCall) => {
    if (id && ids.has(id)) return true
    const n = left.get(name) ?? 0
    left.set(name, n - 1)
    return n > 0
  }
}

function countEach(names: readonly string[]) {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
