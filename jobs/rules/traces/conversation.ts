import { isObject } from '../core/reader.ts'
import type { LlmCall, Message, Trace } from './trace.ts'

/**
 * The longest message list of the trace: the messages of an LLM call and, when it is a message, what
 * came back. A trace without LLM calls has the user's input and the agent's final output, as far as
 * their previews go.
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
  if (!MESSAGE_MEMBERS.some((member) => member in output)) return rendered_input
  return [...rendered_input, { role: 'assistant', ...output }]
}

/**
 * The text of a message: its content as it is, or the text parts of it joined; else its refusal; '' for
 * none.
 */
export function textOf(message: Message | undefined): string {
  const text = contentTextOf(message?.content)
  const refusal = message?.['refusal']
  return text === '' && typeof refusal === 'string' ? refusal : text
}

/** A message that says another text, in the place of that which `textOf` reads. */
export function withText<M extends Record<string, unknown>>(message: M, text: string): M {
  const { content } = message
  if (contentTextOf(content) === '') return { ...message, refusal: text }
  return { ...message, content: Array.isArray(content) ? partsWith(content, text) : text }
}

/** The text is whole in the first part that has one, and the other ones are gone. */
function partsWith(parts: readonly unknown[], text: string) {
  const first = parts.find(isTextPart)
  return parts.flatMap((part) => {
    if (!isTextPart(part)) return [part]
    return part === first ? [{ ...part, text }] : []
  })
}

/** Whether a message may be learned from: a weight that is no number above 0 takes it out. */
export function isTrainable({ weight }: Message) {
  return weight === undefined || weight === null || (typeof weight === 'number' && weight > 0)
}

function contentTextOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isTextPart(part) ? part.text : '')).join('')
}

function isTextPart(part: unknown): part is { text: string } {
  return isObject(part) && typeof part['text'] === 'string'
}

/** An output with one of them is a message. */
const MESSAGE_MEMBERS = ['content', 'tool_calls', 'function_call', 'refusal']
