import { cut, isName, isObject, Reader, reader, tooMany } from '../core/reader.ts'
import type { Fault } from '../core/reader.ts'
import { DAY_MS } from '../core/time.ts'
import { isUuid } from '../core/uuid.ts'
import { conversationOf, textOf } from './conversation.ts'
import { callsIn, isCall, openArgumentBudget, toolCallOf } from './message-calls.ts'
import type { ArgumentBudget } from './message-calls.ts'
import {
  bareHash,
  CALL_ROLES,
  MAX_ITEMS,
  MAX_PREVIEW,
  SOURCE_TYPES,
  SPAN_TYPES,
  TRACE_STATUSES,
} from './trace.ts'
import type { LlmCall, Message, Span, ToolCall, Trace, TraceContent } from './trace.ts'
import { unknownManifest } from './trace-warning.ts'
import type { TraceWarning } from './trace-warning.ts'

export interface TraceDefaults {
  /** For a trace without one; not called otherwise. */
  readonly traceId: () => string
  readonly now: Date
  readonly sourceType?: Trace['source_type']
  readonly agentName?: string
  /** Whether members that only our answers have are kept like unknown ones. */
  readonly keepsAnswered?: boolean
}

/**
 * Checks and normalises one trace as a client sent it, in one pass that copies no message. Members it
 * does not know go to `metadata.extra` when together they have at most 16,384 characters as JSON; larger
 * ones are left out. A manifest_id that is not one of ours by its form goes to
 * `metadata.unknown_manifest_id`, with a warning.
 */
export function readTrace(
  value: unknown,
  defaults: TraceDefaults,
): { trace: Trace; warnings: TraceWarning[] } | { faults: Fault[] } {
  const faults: Fault[] = []
  const read = reader(value, '', faults)
  if (!read) return { faults }
  const named = manifestIdOf(read)
  const trace = traceOf(read, { named, content: contentOf(read) }, defaults)
  return faults.length > 0 ? { faults } : completed(trace, named)
}

/**
 * As `readTrace`, of members that may be faulty around a content that was read before: a faulty member is
 * as if it was absent.
 * @returns also what is wrong with the members
 */
export function readTraceAround(
  content: TraceContent,
  members: Readonly<Record<string, unknown>>,
  defaults: TraceDefaults,
): { trace: Trace; warnings: TraceWarning[]; faults: readonly Fault[] } {
  const read = new Reader(members, '', [])
  const named = manifestIdOf(read)
  const trace = traceOf(read, { named, content }, defaults)
  return { ...completed(trace, named), faults: read.faults }
}

/** With what follows from the other members; the manifest that it names is one of ours by its form or unknown. */
function completed(trace: Trace, named: string | null) {
  const isUnknown = named !== null && !isUuid(named)
  if (isUnknown) trace.metadata = { ...trace.metadata, unknown_manifest_id: named }
  const messages = conversationOf(trace)
  trace.user_input_preview ??= preview(messages.find(({ role }) => role === 'user'))
  trace.final_output_preview ??= preview(messages.findLast(({ role }) => role === 'assistant'))
  return { trace, warnings: isUnknown ? [unknownManifest(named)] : [] }
}

/** Of any type that has a text; clients name manifests in their own ways. */
function manifestIdOf(read: Reader) {
  const given = read.any('manifest_id')
  const isPlain = typeof given === 'number' || typeof given === 'boolean'
  return cut(isPlain ? String(given) : (read.string('manifest_id') ?? ''), MAX_MANIFEST_ID) || null
}

function contentOf(read: Reader): TraceContent {
  const budget = openArgumentBudget()
  const readCall = (value: unknown, field: string, faults: Fault[], index: number) => {
    const call = reader(value, field, faults)
    return call && readLlmCall(call, index, budget)
  }
  const readOneSpan = (value: unknown, field: string, faults: Fault[], index: number) => {
    const span = reader(value, field, faults)
    return span && readSpan(span, index)
  }
  const llm_calls = read.list('llm_calls', readCall, MAX_ITEMS.llm_calls)
  return { spans: read.list('spans', readOneSpan, MAX_ITEMS.spans), llm_calls }
}

function traceOf(
  read: Reader,
  { named, content }: { named: string | null; content: TraceContent },
  defaults: TraceDefaults,
): Trace {
  const manifest_hash = read.name('manifest_hash')
  const status = read.word('status', TRACE_STATUSES)
  const error_message = read.text('error_message', MAX_ERROR)
  const started_at = read.date('started_at') ?? defaults.now
  return {
    trace_id: read.newId('trace_id') ?? read.newId('id') ?? defaults.traceId(),
    agent_name: read.name('agent_name') ?? defaults.agentName ?? DEFAULT_AGENT,
    manifest_id: named !== null && isUuid(named) ? named.toLowerCase() : null,
    manifest_hash: manifest_hash && (bareHash(manifest_hash) || null),
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
    tags: read.names('tags', MAX_ITEMS.tags),
    metadata: withExtra(read.object('metadata'), read.value, defaults),
    session_metadata: read.object('session_metadata'),
    active_skills: read.list('active_skills', readSkill, MAX_ITEMS.skills),
    skills_offered_in_prompt: read.names('skills_offered_in_prompt', MAX_ITEMS.skills),
    skills_loaded_by_agent: read.names('skills_loaded_by_agent', MAX_ITEMS.skills),
    skills_delivered: read.names('skills_delivered', MAX_ITEMS.skills),
    ...content,
  }
}

/** The end where only the duration is given; null for a negative one and for one of centuries. */
function endOf(started: Date, durationMs: number | null) {
  if (durationMs === null || durationMs < 0 || durationMs > MAX_DURATION_MS) return null
  return new Date(Math.min(started.getTime() + durationMs, LAST_TIME_MS))
}

/** @param index of the call in its trace, by which one without an id is named */
export function readLlmCall(read: Reader, index: number, budget: ArgumentBudget): LlmCall {
  const output = readOutput(read)
  const tool_calls = read.list('tool_calls', readToolCall, MAX_ITEMS.tool_calls)
  return {
    id: read.id('id') ?? `call-${index}`,
    span_id: read.id('span_id'),
    agent_name: read.name('agent_name'),
    call_role: read.wordOrOther('call_role', CALL_ROLES) ?? 'responder',
    provider: read.name('provider'),
    model_name: read.name('model_name'),
    temperature: read.number('temperature'),
    max_output_tokens: read.count('max_output_tokens'),
    rendered_input: read.list('rendered_input', readMessage, MAX_ITEMS.messages),
    output,
    tools: read.objects('tools', MAX_ITEMS.tools),
    tool_calls: tool_calls.length > 0 ? tool_calls : toolCallsOf(output, budget),
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

/** @param index of the span in its trace, by which one without an id is named */
export function readSpan(read: Reader, index: number): Span {
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

/** The tool calls that an output asks for, but those whose names no tool can have: these it alone tells. */
function toolCallsOf(output: Record<string, unknown>, budget: ArgumentBudget): ToolCall[] {
  const calls = callsIn(output).filter(({ function: { name } }) => isName(name))
  return calls.map((call) => ({
    ...toolCallOf(call, null, budget),
    id: new Reader({ id: call.id }, '', []).id('id'),
  }))
}

function readSkill(value: unknown, field: string, faults: Fault[]) {
  const read = reader(typeof value === 'string' ? { name: value } : value, field, faults)
  if (!read) return undefined
  const hash = read.name('hash')
  return { name: read.required('name'), ...(hash && { hash }) }
}

/** A model's output: a message, or a bare text. */
function readOutput(read: Reader): Record<string, unknown> {
  if (typeof read.any('output') === 'string') return { content: read.any('output') }
  const output = read.object('output')
  if (output['tool_calls'] !== undefined) checkToolCalls(output, read.at('output'), read.faults)
  return output
}

function readMessage(value: unknown, field: string, faults: Fault[]): Message | undefined {
  if (!isMessage(value)) {
    faults.push({ field, message: 'must be a message with a role' })
    return undefined
  }
  if (value['tool_calls'] !== undefined) checkToolCalls(value, field, faults)
  return value
}

/** Whether a value is a message with a role. */
export function isMessage(value: unknown): value is Message {
  return isObject(value) && typeof value['role'] === 'string'
}

/** Null stands for none; each call must name its function. */
function checkToolCalls(message: { tool_calls?: unknown }, field: string, faults: Fault[]) {
  const { tool_calls: calls } = message
  if (calls === null) {
    delete message.tool_calls
    return
  }
  const faulty = (message: string) => faults.push({ field: `${field}.tool_calls`, message })
  if (Array.isArray(calls) && calls.length > MAX_ITEMS.tool_calls) {
    faulty(tooMany(MAX_ITEMS.tool_calls))
  } else if (!Array.isArray(calls) || !calls.every(isCall)) {
    faulty('must be a list of {id, type, function: {name, arguments}}')
  }
}

/** Whether a trace has a place of its own for a member, on the wire. */
export function isMember(name: string) {
  return TRACE_MEMBERS.has(name)
}

function withExtra(
  metadata: Record<string, unknown>,
  value: Reader['value'],
  { keepsAnswered = false }: TraceDefaults,
) {
  const unknown = Object.keys(value).filter(
    (key) => !isMember(key) && (keepsAnswered || !ANSWERED.has(key)),
  )
  if (unknown.length === 0) return metadata
  let length = 0
  for (const key of unknown) {
    length += key.length + (JSON.stringify(value[key])?.length ?? 0)
    if (length > MAX_EXTRA) return metadata
  }
  const extra = Object.fromEntries(unknown.map((key) => [key, value[key]]))
  return { ...metadata, extra: { ...(metadata['extra'] as object | undefined), ...extra } }
}

function preview(message: Message | undefined) {
  return cut(textOf(message), MAX_PREVIEW) || null
}

/** Members of a trace on the wire; others are kept as `metadata.extra`. */
const TRACE_MEMBERS = new Set(
  `id trace_id agent_name manifest_id manifest_hash session_id turn_index task_id parent_trace_id routing_id
  user_id environment release status source_type started_at ended_at duration_ms user_input_preview
  final_output_preview error_code error_message tags metadata session_metadata active_skills
  skills_offered_in_prompt skills_loaded_by_agent skills_delivered spans llm_calls eval_scores scores`.split(
    /\s+/,
  ),
)
/** What clients send back of an answer, and a trace is not told by. */
const ANSWERED = new Set('project project_id eval_verdict eval_score verdict created_at'.split(' '))
/** The agent of traces that name none. */
const DEFAULT_AGENT = 'default'
const MAX_ERROR = 4000
/** Characters that are kept of an id that is none of ours. */
const MAX_MANIFEST_ID = 256
const MAX_DURATION_MS = 100 * 365 * DAY_MS
const LAST_TIME_MS = Date.parse('9999-12-31T23:59:59Z')
/** Characters. */
const MAX_EXTRA = 16 << 10
