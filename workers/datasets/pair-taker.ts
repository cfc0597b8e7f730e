import { compareCorrection, makeAttempt } from '../../jobs/rules/datasets/attempts.ts'
import type { Attempt, Pair } from '../../jobs/rules/datasets/attempts.ts'
import { correctConversation } from '../../jobs/rules/datasets/messages.ts'
import type { Conversation, Dropped } from '../../jobs/rules/datasets/messages.ts'
import { choosePairs, choosePreferences } from '../../jobs/rules/datasets/pairs.ts'
import type { Preference } from '../../jobs/rules/datasets/pairs.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { finishRow, longestOf, readTrained } from '../../jobs/rules/datasets/rows.ts'
import type { CandidateContent, Row } from '../../jobs/rules/datasets/rows.ts'
import { openToolReader, toolsOf } from '../../jobs/rules/datasets/tools.ts'
import type { Toolbox } from '../../jobs/rules/datasets/tools.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { Output } from './row-output.ts'
import type { Taker } from './taker.ts'

/** Works task by task: it holds the attempts at one together, up to `TASK_LENGTH`. */
export function openPairTaker(recipe: Recipe): Taker {
  const readTools = openToolReader()
  let attempts: Tried[] = []
  let length = 0
  function finish(output: Output) {
    pairUp(attempts, recipe, output)
    attempts = []
    length = 0
  }
  return {
    finish,
    take(trace, content, output, tools) {
      if (attempts[0] && attempts[0].trace.task_id !== trace.task_id) finish(output)
      const declared = readTools(content.llm_calls, tools)
      const { corrected_output } = content
      if (corrected_output !== null) {
        const row = correctedPair(content, corrected_output, declared, recipe)
        output.put(row, { trace, pair: { rejected: trace, source: 'correction' } })
        if (trace.preferred === null) return
      }
      const tried = tryOf(trace, content, declared)
      if ('reason' in tried) return output.drop(tried.reason)
      length += tried.length
      if (length > TASK_LENGTH || attempts.length === TASK_ATTEMPTS) {
        return output.drop('task_too_large')
      }
      attempts.push(tried)
    },
  }
}

function tryOf(trace: ListedTrace, content: CandidateContent, declared: Toolbox): Tried | Dropped {
  const messages = longestOf(content)
  const read = 'reason' in messages ? messages : readTrained(messages, declared)
  if ('reason' in read) return read
  if (trace.quality === null) return { reason: 'unscored' }
  const { preferred, pair_id } = trace
  const attempt = makeAttempt(trace.index, trace.quality, read.messages, declared)
  return { ...attempt, leftOut: read.leftOut, trace, declared, preferred, pair_id }
}

/** What a person compared makes pairs with nothing else. */
function pairUp(attempts: readonly Tried[], recipe: Recipe, output: Output) {
  const [compared, others] = [
    choosePreferences(attempts.filter(({ preferred }) => preferred !== null)),
    choosePairs(attempts.filter(({ preferred }) => preferred === null)),
  ]
  for (const { dropped } of [compared, others]) {
    for (const [reason, n] of dropped) output.drop(reason, n)
  }
  for (const pair of compared.pairs) {
    const { trace, rejected, row } = writePair(pair, recipe)
    output.put(row, { trace, pair: { rejected, source: 'preference' } })
  }
  for (const pair of others.pairs) {
    const { trace, rejected, row } = writePair(pair, recipe)
    const isReplay =
      trace.parent_trace_id === rejected.trace_id || rejected.parent_trace_id === trace.trace_id
    const source = isReplay ? 'replay' : 'attempts'
    output.put(row, { trace, pair: { rejected, source }, lengthRatio: pair.lengthRatio })
  }
}

function writePair(pair: Pair<Tried>, recipe: Recipe) {
  const { chosen, rejected } = pair
  const leftOut = countBehind(pair.turn, chosen) + countBehind(pair.turn, rejected)
  const said = { messages: chosen.messages, leftOut }
  const row = pairRow(pair, said, chosen.declared, recipe, false)
  return { trace: chosen.trace, rejected: rejected.trace, row }
}

/** The pair of what a person wrote, which is chosen, and what the trace said instead. */
function correctedPair(
  content: CandidateContent,
  corrected_output: string,
  declared: Toolbox,
  recipe: Recipe,
): Row | Dropped {
  const messages = longestOf(content)
  if ('reason' in messages) return messages
  const said = readTrained(messages, declared)
  if ('reason' in said) return said
  const corrected = readTrained(correctConversation(messages, corrected_output), declared)
  if ('reason' in corrected) return corrected
  const turns = compareCorrection(corrected.messages, said.messages)
  if ('reason' in turns) return turns
  const leftOut = countBehind(turns.turn, said)
  return pairRow(turns, { messages: corrected.messages, leftOut }, declared, recipe, true)
}

/** How many messages of a conversation come after a turn. */
function countBehind(turn: number, { messages, leftOut }: Conversation) {
  return messages.length - turn - 1 + leftOut
}

function pairRow(
  { turn, chosenTurn, rejectedTurn }: Pick<Pair, 'turn' | 'chosenTurn' | 'rejectedTurn'>,
  { messages, leftOut }: Conversation,
  declared: Toolbox,
  recipe: Recipe,
  corrected: boolean,
) {
  const prompt = messages.slice(0, turn).map((message) => ({ ...message, weight: 0 as const }))
  const tools = toolsOf(declared, [...prompt, chosenTurn, rejectedTurn])
  const lists = { prompt, chosen: [chosenTurn], rejected: [rejectedTurn] }
  return finishRow({ parts: { lists }, tools, leftOut, corrected }, recipe)
}

/** The limit of all attempts at one task together, in characters of JSON. */
const TASK_LENGTH = 64 << 20
const TASK_ATTEMPTS = 1000

type Tried = Attempt & Conversation & Preference & { trace: ListedTrace; declared: Toolbox }
