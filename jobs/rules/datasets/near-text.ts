import type { RowParts } from './formats.ts'
import { isInstruction, plainText } from './messages.ts'
import type { TrainingMessage } from './messages.ts'
import { openSigner } from './signature.ts'

/**
 * Returns a function that signs what is told by a row: contents and arguments of calls of a conversation
 * without its system prompts, of a pair its two turns, and of a kto row the completion with the last
 * message of the user before it. Good and bad kto rows have nothing in common.
 *
 * Not signed, and so equal only to rows with the same hash, are rows that others may read like without
 * being the same: one with an image, a sound or a file, and a pair or completion of few words, which may
 * well answer to something else.
 */
export function openRowSigner() {
  const sign = openSigner()
  return (parts: RowParts) => {
    const told = toldOf(parts)
    const isText = !told.some(({ hasMedia }) => hasMedia)
    const salt = parts.label === false ? BAD_SALT : 0
    const least = parts.lists.messages ? 1 : LEAST_WORDS
    return sign(isText ? textsOf(told) : [], { salt, least })
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
/** Of what is answered without all that was said before. */
const LEAST_WORDS = 20
