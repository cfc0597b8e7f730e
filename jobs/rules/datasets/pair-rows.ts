import type { CandidateContent } from './candidates.ts'
import { compareCorrection } from './comparisons.ts'
import type { Pair } from './comparisons.ts'
import { correctConversation } from './messages.ts'
import type { Conversation, Dropped, TrainingMessage } from './messages.ts'
import type { Row, RowWriter } from './row-writer.ts'
import { longestOf, readTrained } from './rows.ts'
import { toolsOf } from './tools.ts'
import type { Toolbox } from './tools.ts'

/** The row of a pair of attempts. That of a trace and its replay says what the replay was given. */
export function pairRow(pair: Pair, write: RowWriter): Row | Dropped {
  const { chosen, rejected, replay, turn, chosenTurn, rejectedTurn } = pair
  const given = replay ?? chosen
  const prompt = given.messages.slice(0, given.start + turn)
  // What a rejected trace called that its replay was not given is no tool of the row.
  const ours = replay === chosen ? [chosenTurn] : [chosenTurn, rejectedTurn]
  const tools = toolsOf(given.tools, [...prompt, ...ours])
  const leftOut = [chosen, rejected].reduce(
    (sum, side) => sum + countBehind(side.start + turn, side),
    0,
  )
  return writeRow({ prompt, chosenTurn, rejectedTurn, tools, leftOut, corrected: false }, write)
}

/** The row of what a person wrote, which is chosen, and what the trace said instead. */
export function correctedRow(
  content: CandidateContent,
  corrected_output: string,
  declared: Toolbox,
  write: RowWriter,
): Row | Dropped {
  const messages = longestOf(content)
  if ('reason' in messages) return messages
  const said = readTrained(messages, declared)
  if ('reason' in said) return said
  const corrected = readTrained(correctConversation(messages, corrected_output), declared)
  if ('reason' in corrected) return corrected
  const turns = compareCorrection(corrected.messages, said.messages)
  if ('reason' in turns) return turns
  const { turn, chosenTurn, rejectedTurn } = turns
  const prompt = corrected.messages.slice(0, turn)
  const tools = toolsOf(declared, [...prompt, chosenTurn, rejectedTurn])
  const leftOut = countBehind(turn, said)
  return writeRow({ prompt, chosenTurn, rejectedTurn, tools, leftOut, corrected: true }, write)
}

/** How many messages of a conversation come after a turn. */
function countBehind(turn: number, { messages, leftOut }: Conversation) {
  return messages.length - turn - 1 + leftOut
}

function writeRow({ prompt, chosenTurn, rejectedTurn, ...others }: Written, write: RowWriter) {
  const given = prompt.map((message) => ({ ...message, weight: 0 as const }))
  const lists = { prompt: given, chosen: [chosenTurn], rejected: [rejectedTurn] }
  return write({ ...others, parts: { lists } })
}

interface Written {
  readonly prompt: readonly TrainingMessage[]
  readonly chosenTurn: TrainingMessage
  readonly rejectedTurn: TrainingMessage
  readonly tools: Toolbox
  readonly leftOut: number
  readonly corrected: boolean
}
