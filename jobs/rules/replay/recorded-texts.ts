import { conversationOf, textOf } from '../traces/conversation.ts'
import { mayBeCut } from '../traces/trace.ts'
import type { TraceContent } from '../traces/trace-row.ts'

/** What was asked and answered, as far as it is known without the content of the trace. */
export interface Previews {
  readonly user_input_preview: string | null
  readonly final_output_preview: string | null
}

/** What was asked and answered, in full where that was recorded; null for none. */
export interface RecordedTexts {
  readonly user_input: string | null
  readonly original_output: string | null
}

/** Whether only the content can tell a text in full. */
export function needsContent({ user_input_preview, final_output_preview }: Previews) {
  return mayBeCut(user_input_preview) || mayBeCut(final_output_preview)
}

/** @param content undefined where it is not needed, or gone */
export function recordedTexts(previews: Previews, content: TraceContent | undefined) {
  const { user_input_preview: asked, final_output_preview: answered } = previews
  const messages = content ? conversationOf({ ...content, ...previews }) : []
  const first = () => textOf(messages.find(({ role }) => role === 'user'))
  const last = () => textOf(messages.findLast(({ role }) => role === 'assistant'))
  return {
    user_input: mayBeCut(asked) ? first() || asked : asked,
    original_output: mayBeCut(answered) ? last() || answered : answered,
  } satisfies RecordedTexts
}
