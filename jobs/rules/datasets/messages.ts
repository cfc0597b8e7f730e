import { areRead, callsOf, openCallBook } from './call-book.ts'
import type { CallBook, TrainingCall } from './call-book.ts'
import { readContent } from './content.ts'
import { isTrainable } from '../traces/conversation.ts'
import type { Message } from '../traces/trace.ts'

/** A message of a training row. */
export interface TrainingMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** Its text, see `Content`. Null when there is none beside tool calls, parts or a refusal. */
  readonly content: string | null
  readonly parts?: readonly string[]
  readonly hasMedia?: boolean
  /** The words in which the assistant declined. */
  readonly refusal?: string
  /** What the assistant thought before it answered. */
  readonly reasoning?: string
  readonly name?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly TrainingCall[]
  /** 1 where the loss counts. */
  readonly weight: 0 | 1
  /** It says more in members that rows have no place for. */
  readonly hasOthers?: boolean
}

/** Why something gives no row: a word of `dropped_counts`. */
export interface Dropped {
  readonly reason: string
}

export interface Conversation {
  readonly messages: readonly TrainingMessage[]
  /** How many messages came after them. */
  readonly leftOut: number
}

/**
 * A conversation as it can be trained on, or why it cannot. What comes after the last turn of the
 * assistant is left out: nobody answers it, be it a tool's last result or the user's goodbye. Every
 * turn of the assistant that says something has weight 1, unless it came with another weight or made a
 * call of `masked`.
 * @param masked ids of the calls whose turns are not to be learned
 */
export function readConversation(
  messages: readonly Message[],
  masked: ReadonlySet<string> = NONE,
): Conversation | Dropped {
  const last = lastTurnOf(messages)
  if (last < 0) return { reason: 'invalid.no_assistant' }
  const calls = openCallBook()
  const result: TrainingMessage[] = []
  for (const message of messages.slice(0, last + 1)) {
    const read = readMessage(message, calls, masked)
    if ('reason' in read) return read
    result.push(read)
  }
  const [first] = result
  if (first?.role !== 'user' && !isInstruction(first)) return { reason: 'invalid.start' }
  return { messages: result, leftOut: messages.length - result.length }
}

/** Whether a message is a system prompt, under either of its names. */
export function isInstruction(message: TrainingMessage | undefined) {
  return message?.role === 'system' || message?.role === 'developer'
}

/** All words of a message; formats without refusals have them as its content. */
export function plainText({ content, refusal }: TrainingMessage) {
  if (refusal === undefined) return content
  return content ? `${content}\n${refusal}` : refusal
}

/** Canonical JSON of the parts of a message of which some are no text. */
export function mediaOf({ hasMedia, parts = [] }: TrainingMessage) {
  return hasMedia ? parts.join(',') : ''
}

/**
 * A conversation that ends in what a person wrote instead of its last turn of the assistant. Where
 * tools answered that turn, the assistant owed one more, and this is it.
 */
export function correctConversation(messages: readonly Message[], corrected: string): Message[] {
  const turn = { role: 'assistant', content: corrected }
  const last = lastTurnOf(messages)
  if (last < 0) return [...messages, turn]
  let end = last + 1
  while (ROLES.get(messages[end]?.role ?? '') === 'tool') end++
  const isAnswered = end > last + 1
  return [...messages.slice(0, isAnswered ? end : last), turn]
}

/** Index of the last turn of the assistant that says something; -1 when there is none. */
function lastTurnOf(messages: readonly Message[]) {
  return messages.findLastIndex(
    (message) => ROLES.get(message.role) === 'assistant' && saysIt(message),
  )
}

function readMessage(
  message: Message,
  calls: CallBook,
  masked: ReadonlySet<string>,
): TrainingMessage | Dropped {
  const role = ROLES.get(message.role)
  const content = readContent(message.content)
  if (role === undefined) return { reason: 'invalid.role' }
  if (content === undefined) return { reason: 'invalid.content' }
  const { text, ...parts } = content
  const name = textIn(message, 'name')
  const said = {
    // There is no content of nothing: it is empty, unless something else is said.
    content: text ?? (parts.parts || saysIt(message) ? null : ''),
    ...parts,
    ...(hasOthers(message) && { hasOthers: true }),
  }
  if (role === 'assistant')
    return readTurn(message, { ...said, ...(name && { name }) }, calls, masked)
  if (role !== 'tool') return { role, ...said, ...(name && { name }), weight: 0 }
  const call = calls.answer(message.tool_call_id ?? undefined, name)
  if (!call) return { reason: 'invalid.tool_message' }
  return { role, ...said, name: call.name, tool_call_id: call.id, weight: 0 }
}

function readTurn(
  message: Message,
  said: Omit<TrainingMessage, 'role' | 'weight'>,
  calls: CallBook,
  masked: ReadonlySet<string>,
): TrainingMessage | Dropped {
  const given = callsOf(message)
  const tool_calls = given.map((call) => calls.open(call))
  if (!areRead(tool_calls)) return { reason: 'invalid.arguments' }
  const refusal = textIn(message, 'refusal')
  const reasoning = textIn(message, 'reasoning_content')
  const isMasked = given.some(({ id }) => id !== undefined && masked.has(id))
  return {
    role: 'assistant',
    ...said,
    ...(refusal !== undefined && { refusal }),
    ...(reasoning !== undefined && { reasoning }),
    ...(tool_calls.length > 0 && { tool_calls }),
    weight: saysIt(message) && isTrainable(message) && !isMasked ? 1 : 0,
  }
}

function saysIt(message: Message) {
  if (callsOf(message).length > 0 || textIn(message, 'refusal') !== undefined) return true
  const content = readContent(message.content)
  return !content || content.hasMedia === true || (content.text ?? '') !== ''
}

/** A member that is a text and not empty. */
function textIn(message: Message, member: string) {
  const text = message[member]
  return typeof text === 'string' && text !== '' ? text : undefined
}

function hasOthers(message: Message) {
  return Object.keys(message).some((member) => isTold(message[member]) && !isRead(message, member))
}

/** Whether a row has a place for a member of a message as it is. */
function isRead(message: Message, member: string) {
  switch (member) {
    case 'name':
      return typeof message.name === 'string'
    case 'refusal':
    case 'reasoning_content':
      return typeof message[member] === 'string' && ROLES.get(message.role) === 'assistant'
    case 'function_call':
      return callsOf(message).length > 0 && !isTold(message.tool_calls)
    default:
      return MEMBERS.has(member)
  }
}

/** Null and an empty list say nothing. */
function isTold(value: unknown) {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0)
}

const ROLES = new Map<string, TrainingMessage['role']>([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
])
/** The members of a message that a row has a place for whatever they hold. */
const MEMBERS = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'weight'])
const NONE: ReadonlySet<string> = new Set()
