import { agentNamedBy, edgesOf } from './agent-edges.ts'
import { textOf } from './conversation.ts'
import { openNearest } from './nearest-span.ts'
import { askedInMessages, renderedCalls } from './rendered-calls.ts'
import {
  toolArgumentsOf,
  toolOfSpan,
  toolResultOf,
  toolSpans,
  unaskedToolSpans,
} from './tool-spans.ts'
import { mayBeCut } from './trace.ts'
import type { LlmCall, Span, ToolCall, Trace } from './trace.ts'

/** The part of a trace that shows which surfaces of its manifest it used. */
export type UsingTrace = Pick<
  Trace,
  | 'agent_name'
  | 'status'
  | 'active_skills'
  | 'skills_loaded_by_agent'
  | 'user_input_preview'
  | 'final_output_preview'
  | 'metadata'
  | 'tags'
  | 'spans'
  | 'llm_calls'
>

/** What tells the calls of a trace. */
export type CallingTrace = Pick<UsingTrace, 'agent_name' | 'spans' | 'llm_calls'>

/** A tool call of the agent itself; `position` is its index among them. */
export interface UsedTool {
  /** By which messages name the call; null for none. */
  readonly id: string | null
  readonly tool: string
  readonly position: number
  readonly span_id: string | null
  readonly failed: boolean
  /** Undefined when they were not recorded. */
  readonly args: unknown
  /** Null when it was not recorded. */
  readonly result: unknown
}

/** The LLM calls of the agent itself: not its sub-agents', not a judge's. */
export function ownCalls({ agent_name, llm_calls }: CallingTrace): LlmCall[] {
  return llm_calls.filter(
    (call) =>
      call.call_role !== 'judge' &&
      call.call_role !== 'subagent' &&
      (call.agent_name === null || call.agent_name === agent_name),
  )
}

/**
 * The agent's tool calls in order: those of its LLM calls, those that only the messages given to the last
 * one tell, and those that only tool spans tell; where there are none, all of the tool spans. Spans inside a
 * nested span of another agent are that agent's.
 */
export function toolsUsed(trace: UsingTrace, calls: readonly LlmCall[]): UsedTool[] {
  const used: UsedTool[] = []
  const last = calls.at(-1)
  for (const call of calls) {
    const asked = call === last ? [...renderedCalls(calls), ...call.tool_calls] : call.tool_calls
    for (const each of asked) used.push(toUsedTool(each, call.span_id, used.length))
  }
  const spans = used.length > 0 ? unaskedRuns(trace, calls) : toolSpans(trace.spans)
  const isOwn = openOwn(trace)
  for (const span of spans) if (isOwn(span)) used.push(ofSpan(span, used.length))
  return used
}

/** The names of the tools in `toolsUsed`, without a look at what they were given. */
export function toolNamesUsed(trace: CallingTrace, calls: readonly LlmCall[]): string[] {
  const called = calls.flatMap(({ tool_calls }) => tool_calls.map(({ tool_name }) => tool_name))
  const asked = askedInMessages(calls).map((call) => call.function.name)
  const names = [...called, ...asked]
  const spans = names.length > 0 ? unaskedRuns(trace, calls) : toolSpans(trace.spans)
  return [...names, ...spans.map(toolOfSpan)]
}

/** The runs of tools that spans tell and neither an LLM call of the trace nor the messages of these calls. */
export function unaskedRuns({ spans, llm_calls }: CallingTrace, calls: readonly LlmCall[]): Span[] {
  // Most traces have none, and need no look through their messages.
  if (toolSpans(spans).length === 0) return []
  const known = llm_calls.flatMap(({ tool_calls }) => tool_calls)
  const asked = askedInMessages(calls).map(({ id, function: { name } }) => ({
    id: id ?? null,
    tool_name: name,
  }))
  return unaskedToolSpans(spans, [...known, ...asked])
}

/** The skills that were active or that the agent loaded. */
export function skillsUsed({ active_skills, skills_loaded_by_agent }: UsingTrace): Set<string> {
  return new Set([...active_skills.map(({ name }) => name), ...skills_loaded_by_agent])
}

/** The agents that the agent itself gave work to. */
export function agentsUsed(trace: UsingTrace): ReadonlySet<string> {
  const { agent_name, spans, llm_calls } = trace
  const tells =
    spans.some(({ span_type: type }) => type === 'agent' || type === 'handoff') ||
    llm_calls.some((call) => call.agent_name !== null && call.agent_name !== agent_name)
  if (!tells) return NOBODY
  const edges = edgesOf(trace).filter(({ parent }) => parent === trace.agent_name)
  return new Set(edges.map(({ child }) => child))
}

/** What the agent answered at last; `whole` is false when only its beginning is known. */
export function finalOutput(trace: UsingTrace, calls: readonly LlmCall[]) {
  const { output } = calls.findLast((call) => 'content' in call.output) ?? {}
  const text = output && textOf({ role: 'assistant', ...output })
  if (text) return { text, whole: true }
  const preview = trace.final_output_preview
  return preview === null ? undefined : { text: preview, whole: !mayBeCut(preview) }
}

/** The agent could be asked again: what the user said is known, and no mark forbids it. */
export function isReplayable({ user_input_preview, metadata, tags }: UsingTrace): boolean {
  if (!user_input_preview) return false
  const forbidden = metadata['replayable'] === false || metadata['not_replayable'] === true
  return !forbidden && !tags.includes('not_replayable')
}

/** Tells whether a span is the agent's own: the outermost span of an agent always is. */
function openOwn({ agent_name, spans }: CallingTrace) {
  const agents = openNearest(spans, ({ span_type, parent_span_id, attributes }) => {
    if (span_type !== 'agent') return null
    return parent_span_id === null ? agent_name : agentNamedBy(attributes)
  })
  return (span: Span) => (agents.around(span) ?? agent_name) === agent_name
}

function toUsedTool(call: ToolCall, span_id: string | null, position: number): UsedTool {
  return {
    id: call.id,
    tool: call.tool_name,
    position,
    span_id,
    failed: call.status === 'error',
    args: call.args,
    result: call.result,
  }
}

function ofSpan(span: Span, position: number): UsedTool {
  return {
    id: null,
    tool: toolOfSpan(span),
    position,
    span_id: span.id,
    failed: span.status === 'error',
    args: toolArgumentsOf(span),
    result: toolResultOf(span),
  }
}

const NOBODY: ReadonlySet<string> = new Set()
