import { isDeeperThan } from './depth.ts'
import { cut, isObject, reader } from './reader.ts'
import type { Fault, Reader } from './reader.ts'

export { isObject }
export type { Fault }

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

export interface TraceDefaults {
  /** For a trace without one; not called otherwise. */
  readonly traceId: () => string
  readonly now: Date
  readonly sourceType?: Trace['source_type']
  readonly agentName?: string
}

/**
 * Checks and normalises one trace as a client sent it, in one pass that copies no message. Members it
 * does not know go to `metadata.extra` when together they are at most 16 KiB as JSON; larger ones
 * are left out.
 */
export function readTrace(
  value: unknown,
  defaults: TraceDefaults,
): { trace: Trace } | { faults: Fault[] } {
  const faults: Fault[] = []
  const read = reader(value, '', faults)
  if (!read) return { faults }
  const llm_calls = read.list('llm_calls', readLlmCall)
  const spans = read.list('spans', readSpan)
  const status = read.word('status', TRACE_STATUSES)
  const error_message = read.text('error_message', MAX_ERROR)
  const started_at = read.date('started_at') ?? defaults.now
  const trace: Trace = {
    trace_id: read.id('trace_id') ?? read.id('id') ?? defaults.traceId(),
    agent_name: read.name('agent_name') ?? defaults.agentName ?? '',
    manifest_id: read.uuid('manifest_id'),
    manifest_hash: read.name('manifest_hash'),
    session_id: read.id('session_id'),
    turn_index: read.count('turn_index', 2_147_483_647),
    task_id: read.id('task_id'),
    parent_trace_id: read.id('parent_trace_id'),
    routing_id: read.id('routing_id'),
    user_id: read.name('user_id'),
    environment: read.name('environment'),
    release: read.name('release'),
    status: status ?? (error_message ? 'error' : 'success'),
    source_type: read.word('source_type', SOURCE_TYPES) ?? defaults.sourceType ?? 'production',
    started_at,
    ended_at: read.date('ended_at') ?? endOf(started_at, read.number('duration_ms')),
    user_input_preview: read.text('user_input_preview', MAX_PREVIEW),
    final_output_preview: read.text('final_output_preview', MAX_PREVIEW),
    error_code: read.name('error_code'),
    error_message,
    tags: read.names('tags'),
    metadata: withExtra(read.object('metadata'), value as Record<string, unknown>),
    session_metadata: read.object('session_metadata'),
    active_skills: read.list('active_skills', readSkill),
    skills_offered_in_prompt: read.names('skills_offered_in_prompt'),
    skills_loaded_by_agent: read.names('skills_loaded_by_agent'),
    skills_delivered: read.names('skills_delivered'),
    spans,
    llm_calls,
  }
  if (!trace.agent_name && !faults.some(({ field }) => field === 'agent_name')) {
    faults.push({ field: 'agent_name', message: 'agent_name is required' })
  }
  if (faults.length > 0) return { faults }
  const messages = conversationOf(trace)
  trace.user_input_preview ??= preview(messages.find(({ role }) => role === 'user'))
  trace.final_output_preview ??= preview(messages.findLast(({ role }) => role === 'assistant'))
  return { trace }
}

/** Where only the duration was told; a negative one, or one of centuries, tells nothing. */
function endOf(started: Date, durationMs: number | null) {
  if (durationMs === null || durationMs < 0 || durationMs > MAX_DURATION_MS) return null
  return new Date(Math.min(started.getTime() + durationMs, LAST_TIME_MS))
}

/**
 * The longest message list of the trace: the messages of an LLM call and, when it is a message, what
 * came back. A trace without LLM calls has the user's input and the agent's final output, as far as
 * their previews tell.
 */
export function conversationOf(
  trace: Pick<Trace, 'llm_calls' | 'user_input_preview' | 'final_output_preview'>,
): Message[] {
  const longest = longestCall(trace.llm_calls)
  if (longest) return messagesOf(longest)
  const messages: Message[] = []
  if (trace.user_input_preview) messages.push({ role: 'user', content: trace.user_input_preview })
  if (trace.final_output_preview) {
    messages.push({ role: 'assistant', content: trace.final_output_preview })
  }
  return messages
}

/** The call whose messages are the longest list; of equally long ones the last. */
export function longestCall(calls: readonly LlmCall[]): LlmCall | undefined {
  let longest: LlmCall | undefined
  for (const call of calls) {
    if (!longest || call.rendered_input.length >= longest.rendered_input.length) longest = call
  }
  return longest
}

/** The messages of one LLM call, its output last when that is a message. */
export function messagesOf({ rendered_input, output }: LlmCall): Message[] {
  if (!('content' in output) && !('tool_calls' in output)) return rendered_input
  return [...rendered_input, { role: 'assistant', ...output }]
}

/** The text of a message's content: as it is, or its text parts joined; '' for none. */
export function textOf(message: Message | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: unknown) =>
      isObject(part) && typeof part['text'] === 'string' ? part['text'] : '',
    )
    .join('')
}

function readLlmCall(
  value: unknown,
  field: string,
  faults: Fault[],
  index: number,
): LlmCall | undefined {
  const read = reader(value, field, faults)
  if (!read) return undefined
  const output = readOutput(read)
  const tool_calls = read.list('tool_calls', readToolCall)
  return {
    id: read.id('id') ?? `call-${index}`,
    span_id: read.id('span_id'),
    agent_name: read.name('agent_name'),
    call_role: read.wordOrOther('call_role', CALL_ROLES) ?? 'responder',
    provider: read.name('provider'),
    model_name: read.name('model_name'),
    temperature: read.number('temperature'),
    max_output_tokens: read.count('max_output_tokens'),
    rendered_input: read.list('rendered_input', readMessage),
    output,
    tools: read.objects('tools'),
    tool_calls:
      tool_calls.length > 0 ? tool_calls : callsIn(output).map((call) => toolCallOf(call, null)),
    finish_reason: read.name('finish_reason'),
    input_tokens: read.count('input_tokens'),
    output_tokens: read.count('output_tokens'),
    usage: read.object('usage'),
    latency_ms: read.number('latency_ms'),
    cost_usd: read.number('cost_usd'),
    streaming: read.flag('streaming'),
    content_type: read.name('content_type'),
    response_format: read.has('response_format') ? read.object('response_format') : null,
    status: read.name('status') ?? 'success',
    started_at: read.time('started_at'),
    ended_at: read.time('ended_at'),
  }
}

function readSpan(value: unknown, field: string, faults: Fault[], index: number): Span | undefined {
  const read = reader(value, field, faults)
  if (!read) return undefined
  return {
    id: read.id('id') ?? `span-${index}`,
    parent_span_id: read.id('parent_span_id'),
    span_type: read.wordOrOther('span_type', SPAN_TYPES) ?? 'other',
    name: read.text('name', 512) ?? '',
    status: read.name('status') ?? 'success',
    started_at: read.time('started_at'),
    ended_at: read.time('ended_at'),
    input_preview: read.text('input_preview', MAX_PREVIEW),
    output_preview: read.text('output_preview', MAX_PREVIEW),
    attributes: read.object('attributes'),
  }
}

function readToolCall(value: unknown, field: string, faults: Fault[]): ToolCall | undefined {
  const read = reader(value, field, faults)
  if (!read) return undefined
  return {
    id: read.id('id'),
    tool_name: read.required('tool_name'),
    tool_version: read.name('tool_version'),
    status: read.name('status') ?? 'success',
    args: read.any('args') ?? {},
    result: read.any('result') ?? null,
    latency_ms: read.number('latency_ms'),
  }
}

function readSkill(value: unknown, field: string, faults: Fault[]) {
  if (typeof value === 'string') return { name: value }
  const read = reader(value, field, faults)
  if (!read) return undefined
  const hash = read.name('hash')
  return { name: read.required('name'), ...(hash && { hash }) }
}

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

function parsedArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {}
  try {
    const parsed: unknown = JSON.parse(given)
    // What is nested without end cannot be written again.
    return isDeeperThan(MAX_ARGUMENTS_DEPTH, parsed) ? given : parsed
  } catch {
    return given
  }
}

/** A model's output: a message, or a bare text. */
function readOutput(read: Reader): Record<string, unknown> {
  if (typeof read.any('output') === 'string') return { content: read.any('output') }
  const output = read.object('output')
  if (output['tool_calls'] !== undefined) checkToolCalls(output, read.at('output'), read.faults)
  return output
}

function readMessage(value: unknown, field: string, faults: Fault[]): Message | undefined {
  if (!isObject(value) || typeof value['role'] !== 'string') {
    faults.push({ field, message: `${field} must be a message with a role` })
    return undefined
  }
  if (value['tool_calls'] !== undefined) checkToolCalls(value, field, faults)
  return value as Message
}

/** Null stands for none; each call must name its function. */
function checkToolCalls(message: Record<string, unknown>, field: string, faults: Fault[]) {
  const calls = message['tool_calls']
  if (calls === null) {
    delete message['tool_calls']
    return
  }
  if (!Array.isArray(calls) || !calls.every(isCall)) {
    faults.push({
      field: `${field}.tool_calls`,
      message: `${field}.tool_calls must be a list of {id, type, function: {name, arguments}}`,
    })
  }
}

function isCall(call: unknown): call is MessageToolCall {
  return (
    isObject(call) && isObject(call['function']) && typeof call['function']['name'] === 'string'
  )
}

function withExtra(metadata: Record<string, unknown>, value: Record<string, unknown>) {
  const unknown = Object.keys(value).filter((key) => !TRACE_MEMBERS.has(key))
  if (unknown.length === 0) return metadata
  const extra = Object.fromEntries(unknown.map((key) => [key, value[key]]))
  if (JSON.stringify(extra).length > MAX_EXTRA_BYTES) return metadata
  return { ...metadata, extra: { ...(metadata['extra'] as object | undefined), ...extra } }
}

function preview(message: Message | undefined) {
  return cut(textOf(message), MAX_PREVIEW) || null
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

/** Members of a trace on the wire; others are kept as `metadata.extra`. */
const TRACE_MEMBERS = new Set(
  `id trace_id agent_name manifest_id manifest_hash session_id turn_index task_id parent_trace_id routing_id
  user_id environment release status source_type started_at ended_at duration_ms user_input_preview
  final_output_preview error_code error_message tags metadata session_metadata active_skills
  skills_offered_in_prompt skills_loaded_by_agent skills_delivered spans llm_calls eval_scores scores project
  project_id eval_verdict eval_score verdict created_at`.split(/\s+/),
)
const MAX_PREVIEW = 2000
const MAX_ARGUMENTS_DEPTH = 64
const MAX_ERROR = 4000
const MAX_DURATION_MS = 100 * 365 * 86_400_000
const LAST_TIME_MS = Date.parse('9999-12-31T23:59:59Z')
const MAX_EXTRA_BYTES = 16 << 10
