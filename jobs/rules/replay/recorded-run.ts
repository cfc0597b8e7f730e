import { conversationOf, textOf } from '../traces/conversation.ts'
import { ownCalls, toolsUsed } from '../traces/trace-use.ts'
import type { UsedTool, UsingTrace } from '../traces/trace-use.ts'
import { mayBeCut } from '../traces/trace.ts'
import type { Message, Trace } from '../traces/trace.ts'

/** The part of a trace that is executed again. */
export type RecordedTrace = UsingTrace & Pick<Trace, 'session_id' | 'turn_index'>

/** What the user asked the agent for. */
export interface RecordedRequest {
  /** Null when the trace says nothing of the user. */
  readonly text: string | null
  /** False when only the beginning of the text may be known. */
  readonly isWhole: boolean
  /** The conversation up to and with the message that asked. */
  readonly messages: readonly Message[]
  /** Everything the user said from then on, the message that asked first. */
  readonly turns: readonly Message[]
}

/**
 * The message that asked is the first one of the user; but where the conversation begins with earlier
 * turns of the session, it is the one that the preview of the trace repeats. Without such a message the
 * preview is all that is known.
 */
export function readRequest(trace: RecordedTrace): RecordedRequest {
  const calls = ownCalls(trace)
  const preview = trace.user_input_preview
  const messages = calls.length > 0 ? conversationOf({ ...trace, llm_calls: calls }) : []
  const asked = findAsked(messages, preview)
  if (!asked) {
    const said = preview ? [{ role: 'user', content: preview }] : []
    return { text: preview, isWhole: !mayBeCut(preview), messages: said, turns: said }
  }
  const at = messages.indexOf(asked)
  const turns = messages.slice(at).filter(isOfUser)
  return { text: textOf(asked), isWhole: true, messages: messages.slice(0, at + 1), turns }
}

/** The tool calls of the agent itself in order; a result that only a message tells is found by its id. */
export function recordedTools(trace: RecordedTrace): UsedTool[] {
  const calls = ownCalls(trace)
  const told = new Map<string, unknown>()
  for (const { rendered_input } of calls) {
    for (const { role, tool_call_id: id, content } of rendered_input) {
      if (role === 'tool' && id && content !== undefined) told.set(id, content)
    }
  }
  return toolsUsed(trace, calls).map((used) =>
    used.result === null && used.id ? { ...used, result: told.get(used.id) ?? null } : used,
  )
}

function findAsked(messages: readonly Message[], preview: string | null) {
  const spoken = messages.filter((message) => isOfUser(message) && textOf(message) !== '')
  if (!preview) return spoken[0]
  return (
    spoken.find((message) => textOf(message) === preview) ??
    spoken.find((message) => textOf(message).startsWith(preview)) ??
    spoken[0]
  )
}

function isOfUser({ role }: Message) {
  return role === 'user'
}
