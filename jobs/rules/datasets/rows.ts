import { createHash, hash } from 'node:crypto'
import { isMasked } from './candidates.ts'
import type { Candidate, CandidateContent } from './candidates.ts'
import { lossesOf, rareMembersOf, rowText } from './formats.ts'
import type { RareMember, RowParts } from './formats.ts'
import { hasUnfitText } from './training-json.ts'
import { correctConversation, readConversation } from './messages.ts'
import type { Conversation, Dropped, TrainingMessage } from './messages.ts'
import type { Recipe } from './recipe.ts'
import { faultOfCalls, openToolReader, toolsOf } from './tools.ts'
import type { Toolbox } from './tools.ts'
import { conversationOf, longestCall, messagesOf } from '../traces/conversation.ts'
import { mayBeCut } from '../traces/trace.ts'
import type { LlmCall, Message } from '../traces/trace.ts'

export interface Row {
  /** Canonical JSON of the training part. */
  readonly training: Buffer
  /** SHA-256 of `training`. */
  readonly hash: Buffer
  readonly tokens: number
  /** It holds the corrected output. */
  readonly corrected: boolean
  readonly tools_from: Toolbox['from']
  readonly rareMembers: Readonly<Record<RareMember, boolean>>
  readonly losses: Losses
}

/** What a row does not tell of its trace, by word: how many messages it concerns. */
export type Losses = Readonly<Record<Loss, number>>
export const LOSSES = ['members_dropped', 'messages_dropped', 'reasoning_dropped'] as const
export type Loss = (typeof LOSSES)[number]

/** Makes the rows of traces one after the other: of a version of type sft or kto. */
export function openRowMaker(recipe: Recipe) {
  const { options, dataset_type: type } = recipe
  const readTools = openToolReader()

  function rowOf(read: Trained, candidate: Candidate, corrected: boolean) {
    const messages = options.rows === 'call' ? lastTurnOnly(read.messages) : read.messages
    const parts = type === 'kto' ? labelled(messages, candidate) : { lists: { messages } }
    return finishRow({ ...read, parts, corrected }, recipe)
  }

  return (candidate: Candidate, content: CandidateContent, tools?: string): (Row | Dropped)[] => {
    const masked = type === 'sft' && isMasked(candidate) ? failedCalls(content) : undefined
    const declared = readTools(content.llm_calls, tools, candidate.repair ? 'manifest' : 'calls')
    return listsOf(content, recipe).map((said) => {
      const read = 'reason' in said ? said : readTrained(said.messages, declared, masked)
      return 'reason' in read ? read : rowOf(read, candidate, 'corrected' in said && said.corrected)
    })
  }
}

/** A conversation that passed every check of its form, with its tools. */
export function readTrained(
  messages: readonly Message[],
  declared: Toolbox,
  masked?: ReadonlySet<string>,
): Trained | Dropped {
  const read = readConversation(messages, masked)
  if ('reason' in read) return read
  const tools = toolsOf(declared, read.messages)
  const fault = faultOfCalls(read.messages, tools)
  return fault === undefined ? { ...read, tools } : { reason: fault }
}

/** The longest conversation of a trace. Previews stand for it only when they were not cut. */
export function longestOf(content: CandidateContent): readonly Message[] | Dropped {
  const { llm_calls: calls, user_input_preview, final_output_preview } = content
  const previews = [user_input_preview, final_output_preview]
  if (calls.length === 0 && previews.some(mayBeCut)) {
    return { reason: 'invalid.preview_cut' }
  }
  return conversationOf(content)
}

/** Writes a row and checks it as a whole. */
export function finishRow(
  { parts, tools, leftOut, corrected }: Finishing,
  { options }: Recipe,
): Row | Dropped {
  if (!isTrained(parts)) return { reason: 'no_trainable_turn' }
  const text = rowText(parts, tools, options)
  if (typeof text !== 'string') return text
  if (hasUnfitText(text)) return { reason: 'invalid.text' }
  if (text.length > MAX_ROW_LENGTH) return { reason: 'too_long' }
  // Four characters of JSON a token: right within a third for English, code and JSON.
  const tokens = Math.ceil(text.length / 4)
  if (options.max_tokens !== null && tokens > options.max_tokens) return { reason: 'too_long' }
  const training = Buffer.from(text)
  return {
    training,
    hash: hash('sha256', training, 'buffer'),
    tokens,
    corrected,
    tools_from: tools.from,
    rareMembers: rareMembersOf(parts, options),
    losses: { ...lossesOf(parts, options), messages_dropped: leftOut },
  }
}

/**
 * Identifies what a version holds: SHA-256 over its row hashes, in the order of the rows.
 * Give it each hash with `add`.
 */
export function openContentHash() {
  const all = createHash('sha256')
  return { add: (rowHash: Uint8Array) => all.update(rowHash), hex: () => all.digest('hex') }
}

/** The lists of messages that rows are made of. That of the trace's output has the corrected one. */
function listsOf(content: CandidateContent, { options }: Recipe): (Said | Dropped)[] {
  const { corrected_output, llm_calls } = content
  const correct = (messages: readonly Message[]) =>
    corrected_output === null
      ? { messages, corrected: false }
      : { messages: correctConversation(messages, corrected_output), corrected: true }
  if (options.rows === 'conversation') {
    const longest = longestOf(content)
    return ['reason' in longest ? longest : correct(longest)]
  }
  if (llm_calls.length === 0) return [{ reason: 'no_llm_call' }]
  const last = longestCall(llm_calls)
  return llm_calls.map((call) => {
    const messages = messagesOf(call)
    return call === last ? correct(messages) : { messages, corrected: false }
  })
}

/** Calls that failed; their turns are not to be learned. */
function failedCalls({ llm_calls }: { llm_calls: readonly LlmCall[] }) {
  const failed = llm_calls.flatMap(({ tool_calls }) =>
    tool_calls.filter(({ status }) => status === 'error'),
  )
  return new Set(failed.flatMap(({ id }) => id ?? []))
}

/** What came before a call is given, and other rows train it. */
function lastTurnOnly(messages: readonly TrainingMessage[]) {
  return messages.map((message, i) =>
    message.weight === 0 || i === messages.length - 1
      ? message
      : { ...message, weight: 0 as const },
  )
}

/**
 * What the model said last, labelled by how the trace did. Trainers take all of a completion for the
 * model's own words, so it cannot hold the user's turns and the tools' answers of a longer stretch; and
 * they let the model go on with a prompt that ends in its own words, so turns in a row stay together.
 */
function labelled(messages: readonly TrainingMessage[], { eval_verdict }: Candidate): RowParts {
  const at = messages.findLastIndex(({ weight }) => weight === 0) + 1
  const prompt = messages.slice(0, at).map((message) => ({ ...message, weight: 0 as const }))
  return { lists: { prompt, completion: messages.slice(at) }, label: eval_verdict === 'pass' }
}

function isTrained({ lists }: RowParts) {
  const said = Object.values(lists).flat()
  return said.some(({ weight }) => weight === 1)
}

/** Characters of a row's text; what reads the rows needs a bound for its buffers. */
const MAX_ROW_LENGTH = 4 << 20

type Trained = Conversation & { readonly tools: Toolbox }
interface Finishing extends Pick<Trained, 'tools' | 'leftOut'> {
  readonly parts: RowParts
  readonly corrected: boolean
}
interface Said {
  readonly messages: readonly Message[]
  readonly corrected: boolean
}
