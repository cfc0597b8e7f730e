import { hash } from 'node:crypto'
import { messageText } from './formats.ts'
import { isInstruction, plainText } from './messages.ts'
import type { Dropped, TrainingMessage } from './messages.ts'
import type { Toolbox } from './tools.ts'

/** One trace's way through a task. */
export interface Attempt {
  /** Index in the order of trace ids. */
  readonly index: number
  readonly quality: number
  readonly messages: readonly TrainingMessage[]
  /** Only attempts of one group are compared: same tools, same system prompt. */
  readonly group: string
  /** Hash of the conversation up to and with each message. */
  readonly prefixes: readonly string[]
  /** Characters of its messages as JSON. */
  readonly length: number
}

export interface Pair<A extends Attempt = Attempt> {
  readonly chosen: A
  readonly rejected: A
  /** Index of the messages they differ in; what comes before is the prompt. */
  readonly turn: number
  readonly chosenTurn: TrainingMessage
  readonly rejectedTurn: TrainingMessage
  /** Logarithm of the chosen turn's length over the rejected one's. */
  readonly lengthRatio: number
}

export function makeAttempt(
  index: number,
  quality: number,
  messages: readonly TrainingMessage[],
  tools: Toolbox,
): Attempt {
  const firstTurn = messages.findIndex((message) => !isInstruction(message))
  const prompt = messages.slice(0, firstTurn).map(({ content }) => content)
  // Tools that were only seen to be called say nothing of what could have been called.
  const declared = tools.from !== 'seen' ? [...tools.texts.values()].sort() : null
  let prefix = ''
  let length = 0
  const prefixes = messages.map((message) => {
    const text = messageText({ ...message, weight: 0 }, COMPARED_AS) + mediaOf(message)
    length += text.length
    prefix = digest(prefix + text)
    return prefix
  })
  return {
    index,
    quality,
    messages,
    group: digest(JSON.stringify([declared, prompt])),
    prefixes,
    length,
  }
}

/** The first turn that two attempts take differently. */
export function compareTurns<A extends Attempt>(chosen: A, rejected: A): Pair<A> | Dropped {
  const turn = chosen.prefixes.findIndex((prefix, i) => prefix !== rejected.prefixes[i])
  const [ours, theirs] = [chosen.messages[turn], rejected.messages[turn]]
  if (!ours || !theirs) return { reason: 'no_divergence' }
  if (ours.role === 'user' || theirs.role === 'user') return { reason: 'user_divergence' }
  if (ours.role !== 'assistant' || theirs.role !== 'assistant') return { reason: 'env_divergence' }
  if (ours.weight === 0 || theirs.weight === 0) return { reason: 'no_trainable_turn' }
  const lengthRatio = Math.log(lengthOf(ours) / lengthOf(theirs))
  return { chosen, rejected, turn, chosenTurn: ours, rejectedTurn: theirs, lengthRatio }
}

/**
 * The turn of a trace and the one a person wrote in its place. What a person says goes without the
 * bounds on quality and length that comparisons of attempts have.
 * @param corrected the trace's conversation as `correctConversation` ends it
 * @param said as the trace ended it
 */
export function compareCorrection(
  corrected: readonly TrainingMessage[],
  said: readonly TrainingMessage[],
): (Turns & Pick<Pair, 'turn'>) | Dropped {
  const turn = corrected.length - 1
  const [chosenTurn, rejectedTurn] = [corrected[turn], said[turn]]
  if (!chosenTurn || !rejectedTurn) return { reason: 'no_output' }
  if (isNearIdentical({ chosenTurn, rejectedTurn })) return { reason: 'near_identical' }
  return { turn, chosenTurn, rejectedTurn }
}

/** Whether the two turns of a pair differ in case, spacing and punctuation at most. */
export function isNearIdentical({ chosenTurn, rejectedTurn }: Turns) {
  return gistOf(chosenTurn) === gistOf(rejectedTurn)
}

/** What a turn says, whatever its case, spacing and punctuation, and what it calls, to the letter. */
function gistOf(message: TrainingMessage) {
  const { tool_calls = [] } = message
  const words = (plainText(message) ?? '')
    .toLowerCase()
    .replace(/[\s.,;:!?"'`*_#~]+/g, ' ')
    .trim()
  const calls = tool_calls.map(({ name, canonical }) => [name, canonical])
  return JSON.stringify([words, calls, mediaOf(message)])
}

/** In UTF-16 code units: the text and other parts, and the names and arguments of the calls. */
function lengthOf(message: TrainingMessage) {
  const { tool_calls = [] } = message
  return tool_calls.reduce(
    (sum, { name, canonical }) => sum + name.length + canonical.length,
    (plainText(message)?.length ?? 0) + mediaOf(message).length,
  )
}

/** Canonical JSON of the parts of a message of which some are no text. */
function mediaOf({ hasMedia, parts = [] }: TrainingMessage) {
  return hasMedia ? parts.join(',') : ''
}

function digest(text: string) {
  return hash('sha256', text, 'base64').slice(0, 22)
}

/** Two conversations are the same whatever the spelling of their arguments. */
const COMPARED_AS = { format: 'trl', reasoning: 'drop' } as const

type Turns = Pick<Pair, 'chosenTurn' | 'rejectedTurn'>
