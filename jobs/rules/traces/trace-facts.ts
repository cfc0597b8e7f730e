import { hash } from 'node:crypto'
import { ownCalls, toolNamesUsed, unaskedRuns } from './trace-use.ts'
import type { CallingTrace } from './trace-use.ts'
import { conversationOf, isTrainable } from './conversation.ts'
import type { Message, Trace } from './trace.ts'

/** What is known of a trace's content without opening it again; columns of `traces`. */
export interface TraceFacts {
  /** By any agent in the trace, sorted; of its spans those that its LLM calls do not tell. */
  tools_called: string[]
  span_count: number
  llm_call_count: number
  /** Those whose outcome was recorded, which a conversation alone does not tell. */
  tool_call_count: number
  tool_error_count: number
  input_tokens: number
  output_tokens: number
  cost_usd: number | null
  llm_latency_ms: number | null
  /** `malformed.empty`, `malformed.role`, `malformed.orphan_tool_result`, or null. */
  malformed: string | null
  content_hash: Buffer | null
}

export function factsOf(trace: Trace): TraceFacts {
  const messages = conversationOf(trace)
  const facts: TraceFacts = {
    tools_called: toolsCalled(trace),
    span_count: trace.spans.length,
    llm_call_count: trace.llm_calls.length,
    tool_call_count: 0,
    tool_error_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
    llm_latency_ms: null,
    malformed: malformationOf(messages),
    content_hash: messages.length > 0 ? hashMessages(messages) : null,
  }
  for (const call of trace.llm_calls) {
    facts.input_tokens += call.input_tokens ?? 0
    facts.output_tokens += call.output_tokens ?? 0
    if (call.cost_usd !== null) facts.cost_usd = (facts.cost_usd ?? 0) + call.cost_usd
    if (call.latency_ms !== null)
      facts.llm_latency_ms = (facts.llm_latency_ms ?? 0) + call.latency_ms
    for (const tool of call.tool_calls) {
      facts.tool_call_count++
      if (tool.status === 'error') facts.tool_error_count++
    }
  }
  for (const { status } of unaskedRuns(trace, ownCalls(trace))) {
    facts.tool_call_count++
    if (status === 'error') facts.tool_error_count++
  }
  // Counts of single calls are safe integers, their sum need not be one.
  facts.input_tokens = Math.min(facts.input_tokens, Number.MAX_SAFE_INTEGER)
  facts.output_tokens = Math.min(facts.output_tokens, Number.MAX_SAFE_INTEGER)
  return facts
}

/** The names of the tools that any agent in the trace called, sorted. */
export function toolsCalled(trace: CallingTrace): string[] {
  const tools = new Set(toolNamesUsed(trace, ownCalls(trace)))
  for (const call of trace.llm_calls) {
    for (const { tool_name } of call.tool_calls) tools.add(tool_name)
  }
  return [...tools].sort()
}

/**
 * SHA-256 over what a conversation says: roles, contents, names, refusals, what is not to be learned,
 * and the calls with their arguments, without ids. Each part is preceded by its length, so that no two lists run together.
 */
function hashMessages(messages: readonly Message[]): Buffer {
  const parts: string[] = []
  const put = (part: unknown) => {
    const text = typeof part === 'string' ? part : (JSON.stringify(part) ?? '')
    parts.push(`${text.length}:`, text)
  }
  for (const message of messages) {
    const { role, content, name, tool_calls, refusal } = message
    put(role)
    put(content ?? '')
    put(name ?? '')
    if (refusal) put({ refusal })
    if (!isTrainable(message)) put({ weight: 0 })
    for (const call of tool_calls ?? []) {
      put(call.function.name)
      put(call.function.arguments)
    }
  }
  return hash('sha256', parts.join(''), 'buffer')
}

function malformationOf(messages: readonly Message[]) {
  if (messages.length === 0) return 'malformed.empty'
  const open = new Set<string>()
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (!MESSAGE_ROLES.has(role)) return 'malformed.role'
    for (const { id } of tool_calls ?? []) if (id !== undefined) open.add(id)
    if (role === 'tool' && tool_call_id !== undefined && !open.has(tool_call_id)) {
      return 'malformed.orphan_tool_result'
    }
  }
  return null
}

const MESSAGE_ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
