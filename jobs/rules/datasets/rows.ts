import { createHash } from 'node:crypto'
import { isMasked } from './candidates.ts'
import type { Candidate, CandidateContent } from './candidates.ts'
import type { RowParts } from './formats.ts'
import { correctConversation, readConversation } from './messages.ts'
import type { Conversation, Dropped, TrainingMessage } from './messages.ts'
import type { Recipe } from './recipe.ts'
import { openRowWriter } from './row-writer.ts'
import type { Row } from './row-writer.ts'
import { faultOfCalls, openToolReader, toolsOf } from './tools.ts'
import type { Toolbox } from './tools.ts'
import { conversationOf, longestCall, messagesOf } from '../traces/conversation.ts'
import { mayBeCut } from '../traces/trace.ts'
import type { LlmCall, Message } from '../traces/trace.ts'

/** Makes the rows of traces one after the other: of a version of type sft or kto. */
export function openRowMaker(recipe: Recipe) {
  const { options, dataset_type: type } = recipe
  const readTools = openToolReader()
  const write = openRowWriter(recipe)

  function rowOf(read: Trained, candidate: Candidate, corrected: boolean) {
    const messages = options.rows === 'call' ? lastTurnOnly(read.messages) : read.messages
    const parts = type === 'kto' ? labelled(messages, candidate) : { lists: { messages } }
    return write({ ...read, parts, corrected })
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

type Trained = Conversation & { readonly tools: Toolbox }
interface Said {
  readonly messages: readonly Message[]
  readonly corrected: boolean
}
