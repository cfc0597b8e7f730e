import { parseJson } from '../core/parse-json.ts'
import { trainingJson } from './training-json.ts'
import { isObject } from '../core/reader.ts'
import type { Message } from '../traces/trace.ts'

/** A message of a training row. */
export interface TrainingMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** Null when there is none beside tool calls. */
  readonly content: string | null
  readonly name?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly TrainingCall[]
  /** 1 where the loss counts. */
  readonly weight: 0 | 1
}

export interface TrainingCall {
  /** `call_1`, `call_2`, ... in order, so that equal conversations give equal rows. */
  readonly id: string
  readonly name: string
  /** JSON text: as the model wrote it, or canonical where it came parsed. */
  readonly arguments: string
  readonly canonical: string
  readonly parsed: Readonly<Record<string, unknown>>
}

/** Why something gives no row: a word of `dropped_counts`. */
export interface Dropped {
  readonly reason: string
}

export type Conversation = { readonly messages: readonly TrainingMessage[] } | Dropped

/**
 * A conversation as it can be trained on, or why it cannot. What comes after the last turn of the
 * assistant is left out: nobody answers it, be it a tool's last result or the user's goodbye. Every
 * turn of the assistant that says something has weight 1, unless it made a call of `masked`.
 * @param masked ids of the calls whose turns are not to be learned
 */
export function readConversation(
  messages: readonly Message[],
  masked: ReadonlySet<string> = NONE,
): Conversation {
  const last = lastTurnOf(messages)
  if (last < 0) return { reason: 'invalid.no_assistant' }
  const calls = callBook()
  const result: TrainingMessage[] = []
  for (const message of messages.slice(0, last + 1)) {
    const read = readMessage(message, calls, masked)
    if ('reason' in read) return read
    result.push(read)
  }
  const first = result[0]?.role
  if (first !== 'system' && first !== 'user') return { reason: 'invalid.start' }
  return { messages: result }
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

/** The text of a message, null for none; undefined when it has parts that are no text. */
function contentOf({ content }: Message): string | null | undefined {
  if (content === undefined || content === null) return null
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  const texts = content.map((part: unknown) => (isObject(part) ? part['text'] : part))
  return texts.every((text) => typeof text === 'string') ? texts.join('') : undefined
}

function readMessage(
  message: Message,
  calls: CallBook,
  masked: ReadonlySet<string>,
): TrainingMessage | Dropped {
  const role = ROLES.get(message.role)
  const content = contentOf(message)
  if (role === undefined) return { reason: 'invalid.role' }
  if (content === undefined) return { reason: 'invalid.content' }
  const name = typeof message.name === 'string' && message.name !== '' ? message.name : undefined
  if (role === 'tool') {
    const call = calls.answer(message.tool_call_id ?? undefined, name)
    if (!call) return { reason: 'invalid.tool_message' }
    return { role, content: content ?? '', name: call.name, tool_call_id: call.id, weight: 0 }
  }
  const given = role === 'assistant' ? callsOf(message) : []
  const tool_calls = given.map((call) => calls.open(call))
  if (!areRead(tool_calls)) return { reason: 'invalid.arguments' }
  const trained =
    role === 'assistant' &&
    saysIt(message) &&
    !given.some(({ id }) => id !== undefined && masked.has(id))
  return {
    role,
    content: content ?? (tool_calls.length > 0 ? null : ''),
    ...(name !== undefined && { name }),
    ...(tool_calls.length > 0 && { tool_calls }),
    weight: trained ? 1 : 0,
  }
}

/** Gives calls their ids and finds the call that a tool's message answers, each once. */
function callBook() {
  const waiting: { given: string | undefined; call: TrainingCall }[] = []
  let count = 0
  return {
    open({ id, function: called }: GivenCall): TrainingCall | undefined {
      const read = readArguments(called.arguments)
      if (!read) return undefined
      const call = { id: `call_${++count}`, name: called.name, ...read }
      waiting.push({ given: id ?? undefined, call })
      return call
    },
    /** By id; without one the first call that waits, of that name when one is given. */
    answer(id: string | undefined, name: string | undefined) {
      const at = waiting.findIndex(({ given, call }) =>
        id === undefined ? name === undefined || name === call.name : given === id,
      )
      return at < 0 ? undefined : waiting.splice(at, 1)[0]?.call
    },
  }
}

function readArguments(given: unknown) {
  if (given === undefined || given === null || given === '') return NO_ARGUMENTS
  const parsed = typeof given === 'string' ? parseJson(given) : given
  if (!isObject(parsed)) return undefined
  const canonical = trainingJson(parsed)
  if (canonical === undefined) return undefined
  return { arguments: typeof given === 'string' ? given : canonical, canonical, parsed }
}

/** `function_call` is how a single call was written before there were several. */
function callsOf({ tool_calls, function_call: single }: Message): readonly GivenCall[] {
  if (tool_calls && tool_calls.length > 0) return tool_calls
  return isObject(single) && typeof single['name'] === 'string'
    ? [{ function: { name: single['name'], arguments: single['arguments'] } }]
    : []
}

function saysIt(message: Message) {
  return callsOf(message).length > 0 || (contentOf(message) !== null && contentOf(message) !== '')
}

function areRead(calls: readonly (TrainingCall | undefined)[]): calls is readonly TrainingCall[] {
  return calls.every((call) => call !== undefined)
}

const ROLES = new Map<string, TrainingMessage['role']>([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
])
const NO_ARGUMENTS = { arguments: '{}', canonical: '{}', parsed: {} }
const NONE: ReadonlySet<string> = new Set()

type CallBook = ReturnType<typeof callBook>
type GivenCall = {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: unknown }
}
