import { isTooDeep } from '../core/depth.ts'
import { parseJson } from '../core/parse-json.ts'
import { isObject } from '../core/reader.ts'
import type { MessageToolCall, ToolCall } from './trace.ts'

/** The tool calls a message asks for; what is none is left out. */
export function callsIn({ tool_calls: calls }: Record<string, unknown>): MessageToolCall[] {
  return Array.isArray(calls) ? calls.filter(isCall) : []
}

/** A tool call of a message with its result. Arguments that are JSON text are parsed. */
export function toolCallOf(call: MessageToolCall, result: unknown): ToolCall {
  return {
    id: call.id ?? null,
    tool_name: call.function.name,
    tool_version: null,
    status: 'success',
    args: parsedArguments(call.function.arguments),
    result,
    latency_ms: null,
  }
}

/** Whether a tool call of a message names its function. */
export function isCall(call: unknown): call is MessageToolCall {
  return (
    isObject(call) && isObject(call['function']) && typeof call['function']['name'] === 'string'
  )
}

function parsedArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {}
  const parsed = parseJson(given)
  // What is nested without end cannot be written again.
  return parsed === undefined || isTooDeep(parsed) ? given : parsed
}
