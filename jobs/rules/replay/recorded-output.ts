import { conversationOf, textOf } from '../traces/conversation.ts'
import { finalOutput, ownCalls } from '../traces/trace-use.ts'
import type { UsingTrace } from '../traces/trace-use.ts'

/**
 * What the agent answered at last; null when the trace does not tell. Where the conversation was recorded
 * as one call's input, its last message of the agent has the text that the preview only begins.
 */
export function readOutput(trace: UsingTrace): string | null {
  const calls = ownCalls(trace)
  const known = finalOutput(trace, calls)
  if (!known || known.whole) return known?.text ?? null
  const messages = conversationOf({ ...trace, llm_calls: calls })
  const last = textOf(messages.findLast(({ role }) => role === 'assistant'))
  return last.startsWith(known.text) ? last : known.text
}
