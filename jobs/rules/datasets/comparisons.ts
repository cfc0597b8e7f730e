import type { Attempt } from './attempts.ts'
import { mediaOf, plainText } from './messages.ts'
import type { Dropped, TrainingMessage } from './messages.ts'
import { faultOfCalls } from './tools.ts'

export interface Pair<A extends Attempt = Attempt> extends Turns {
  readonly chosen: A
  readonly rejected: A
  /** The one of the two that replays the other: prompt and tools of the pair are its own. */
  readonly replay: A | null
  /** Index, behind the instructions, of the messages they differ in; what comes before is the prompt. */
  readonly turn: number
  /** Logarithm of the chosen turn's length over the rejected one's. */
  readonly lengthRatio: number
}

/** Two attempts of one group: a pair of the first turn that they take differently, by all bounds. */
export function compareAttempts<A extends Attempt>(chosen: A, rejected: A): Pair<A> | Dropped {
  if (chosen.quality - rejected.quality < MARGIN) return { reason: 'margin' }
  const found = compareTurns(chosen, rejected)
  if ('reason' in found) return found
  if (isNearIdentical(found)) return { reason: 'near_identical' }
  return Math.abs(found.lengthRatio) > MAX_LENGTH_RATIO ? { reason: 'length_ratio' } : found
}

export function isReplayOf(replay: Attempt, source: Attempt) {
  return replay.source_trace_id === source.trace_id
}

/**
 * A trace and its own replay. Instructions and tools may differ, because the replay ran under the
 * manifest that is to be trained for; what users and tools said may not. The rejected turn may call
 * what that manifest lacks, the chosen one not.
 */
export function compareReplay<A extends Attempt>(chosen: A, rejected: A): Pair<A> | Dropped {
  const found = compareAttempts(chosen, rejected)
  if ('reason' in found) return found
  if (isReplayOf(chosen, rejected)) return { ...found, replay: chosen }
  const { tools } = rejected
  // Of tools that were only seen to be called nobody knows which others there were.
  const isLacking = tools.from !== 'seen' && faultOfCalls([found.chosenTurn], tools) !== undefined
  return isLacking ? { reason: 'tool_lacking' } : { ...found, replay: rejected }
}

/** The first turn that two attempts take differently. */
export function compareTurns<A extends Attempt>(chosen: A, rejected: A): Pair<A> | Dropped {
  const turn = chosen.prefixes.findIndex((prefix, i) => prefix !== rejected.prefixes[i])
  if (turn < 0) return { reason: 'no_divergence' }
  const ours = chosen.messages[chosen.start + turn]
  const theirs = rejected.messages[rejected.start + turn]
  if (!ours || !theirs) return { reason: 'no_divergence' }
  if (ours.role === 'user' || theirs.role === 'user') return { reason: 'user_divergence' }
  if (ours.role !== 'assistant' || theirs.role !== 'assistant') return { reason: 'env_divergence' }
  if (ours.weight === 0 || theirs.weight === 0) return { reason: 'no_trainable_turn' }
  const lengthRatio = Math.log(lengthOf(ours) / lengthOf(theirs))
  const turns = { chosenTurn: ours, rejectedTurn: theirs }
  return { chosen, rejected, replay: null, turn, ...turns, lengthRatio }
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
): (Turns & { readonly turn: number }) | Dropped {
  const turn = corrected.length - 1
  const [chosenTurn, rejectedTurn] = [corrected[turn], said[turn]]
  if (!chosenTurn || !rejectedTurn) return { reason: 'no_output' }
  if (isNearIdentical({ chosenTurn, rejectedTurn })) return { reason: 'near_identical' }
  return { turn, chosenTurn, rejectedTurn }
}

/** Whether the two turns of a pair differ in case, spacing and punctuation at most. */
function isNearIdentical({ chosenTurn, rejectedTurn }: Turns) {
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

/** Least distance in quality. With it and the bounds of both sides, mislabelled pairs fall from 20 % to 5 %. */
const MARGIN = 0.3
/** Beyond it a trainer learns to be long or short instead of right. */
const MAX_LENGTH_RATIO = Math.log(2)

interface Turns {
  readonly chosenTurn: TrainingMessage
  readonly rejectedTurn: TrainingMessage
}
