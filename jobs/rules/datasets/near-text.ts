import type { RowParts } from './formats.ts'
import { isInstruction, plainText } from './messages.ts'
import type { TrainingMessage } from './messages.ts'
import { openSigner } from './signature.ts'

/**
 * Returns a function that signs what is told by a row: contents and arguments of calls of a conversation
 * without its system prompts, of a pair its two turns, and of a kto row the completion with the last
 * message of the user before it. Good and bad kto rows have nothing in common. What is not text tells rows
 * apart that read the same: a row with an image, a sound or a file is not signed.
 */
export function openRowSigner() {
  const sign = openSigner()
  return (parts: RowParts) => {
    const told = toldOf(parts)
    const isText = !told.some(({ hasMedia }) => hasMedia)
    return sign(isText ? textsOf(told) : [], parts.label === false ? BAD_SALT : 0)
  }
}

function toldOf({ lists }: RowParts): TrainingMessage[] {
  const { messages = [], prompt = [], chosen = [], rejected = [], completion = [] } = lists
  const asked = completion.length > 0 ? prompt.findLast(({ role }) => role === 'user') : undefined
  return [
    ...messages.filter((message) => !isInstruction(message)),
    ...(asked ? [asked] : []),
    ...completion,
    ...chosen,
    ...rejected,
  ]
}

function textsOf(messages: readonly TrainingMessage[]) {
  return messages.flatMap((message) => [
    plainText(message) ?? '',
    ...(message.tool_calls ?? []).map((call) => call.arguments),
  ])
}

const BAD_SALT = 0x5bd1_e995
