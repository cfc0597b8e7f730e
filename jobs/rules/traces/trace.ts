/** One recorded execution of an agent, every default filled in. Wire names throughout. */
export interface Trace {
  trace_id: string
  agent_name: string
  manifest_id: string | null
  manifest_hash: string | null
  session_id: string | null
  turn_index: number | null
  task_id: string | null
  parent_trace_id: string | null
  routing_id: string | null
  user_id: string | null
  environment: string | null
  release: string | null
  status: (typeof TRACE_STATUSES)[number]
  source_type: (typeof SOURCE_TYPES)[number]
  started_at: Date
  ended_at: Date | null
  user_input_preview: string | null
  final_output_preview: string | null
  error_code: string | null
  error_message: string | null
  tags: string[]
  metadata: Record<string, unknown>
  session_metadata: Record<string, unknown>
  active_skills: { name: string; hash?: string }[]
  skills_offered_in_prompt: string[]
  skills_loaded_by_agent: string[]
  skills_delivered: string[]
  spans: Span[]
  llm_calls: LlmCall[]
}

/** The part of a trace that is stored compressed. */
export type TraceContent = Pick<Trace, 'spans' | 'llm_calls'>

export interface Span {
  id: string
  parent_span_id: string | null
  span_type: (typeof SPAN_TYPES)[number]
  name: string
  status: string
  started_at: string | null
  ended_at: string | null
  input_preview: string | null
  output_preview: string | null
  attributes: Record<string, unknown>
}

export interface LlmCall {
  id: string
  span_id: string | null
  agent_name: string | null
  call_role: (typeof CALL_ROLES)[number]
  provider: string | null
  model_name: string | null
  temperature: number | null
  max_output_tokens: number | null
  /** The messages the model was given. */
  rendered_input: Message[]
  /** The message the model gave back; `{}` when it is not known. */
  output: Record<string, unknown>
  /** Schemas of the tools the model was offered, as the client sent them. */
  tools: Record<string, unknown>[]
  tool_calls: ToolCall[]
  finish_reason: string | null
  input_tokens: number | null
  output_tokens: number | null
  usage: Record<string, unknown>
  latency_ms: number | null
  cost_usd: number | null
  streaming: boolean
  content_type: string | null
  response_format: Record<string, unknown> | null
  status: string
  started_at: string | null
  ended_at: string | null
}

export interface ToolCall {
  id: string | null
  tool_name: string
  tool_version: string | null
  status: string
  args: unknown
  result: unknown
  latency_ms: number | null
}

/** An OpenAI chat message; members beside these are kept as they came. */
export interface Message {
  role: string
  content?: unknown
  name?: string
  tool_call_id?: string
  tool_calls?: MessageToolCall[]
  [member: string]: unknown
}

export interface MessageToolCall {
  id?: string
  type?: string
  function: { name: string; arguments: unknown }
}

export const TRACE_STATUSES = ['success', 'error', 'partial', 'running'] as const
export const SOURCE_TYPES = [
  'production',
  'replayed',
  'synthetic',
  'distillation',
  'manual',
  'imported',
] as const
export const SPAN_TYPES = [
  'agent',
  'llm',
  'tool',
  'retrieval',
  'router',
  'judge',
  'handoff',
  'guardrail',
  'memory',
  'planning',
  'other',
] as const
export const CALL_ROLES = ['planner', 'responder', 'subagent', 'judge', 'router', 'other'] as const
/** Most items in the lists of a trace. */
export const MAX_ITEMS = {
  spans: 10_000,
  llm_calls: 2000,
  /** Of one LLM call, or of one message. */
  tool_calls: 1000,
  /** Given to one LLM call. */
  messages: 10_000,
  /** Offered to one LLM call. */
  tools: 1000,
  tags: 1000,
  /** In each of the lists of skills. */
  skills: 1000,
} as const
/** Previews are cut to this many characters when a trace is read. */
export const MAX_PREVIEW = 2000

/** Whether a preview may have been cut: one less than the most where the cut would have parted a pair. */
export function mayBeCut(preview: string | null): boolean {
  return preview !== null && preview.length >= MAX_PREVIEW - 1
}

/** A manifest's hash as traces hold it: without `sha256:` before it, and in lower case where it is one. */
export function bareHash(text: string): string {
  const bare = text.replace(/^sha256:/i, '')
  return /^[0-9a-f]{64}$/i.test(bare) ? bare.toLowerCase() : bare
}
