import { makeAttempt } from '../../jobs/rules/datasets/attempts.ts'
import type { Attempt } from '../../jobs/rules/datasets/attempts.ts'
import type { CandidateContent } from '../../jobs/rules/datasets/candidates.ts'
import type { Dropped } from '../../jobs/rules/datasets/messages.ts'
import { correctedRow, pairRow } from '../../jobs/rules/datasets/pair-rows.ts'
import { choosePairs, choosePreferences } from '../../jobs/rules/datasets/pairs.ts'
import type { Preference } from '../../jobs/rules/datasets/pairs.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { openRowWriter } from '../../jobs/rules/datasets/row-writer.ts'
import type { RowWriter } from '../../jobs/rules/datasets/row-writer.ts'
import { longestOf, readTrained } from '../../jobs/rules/datasets/rows.ts'
import { openToolReader } from '../../jobs/rules/datasets/tools.ts'
import type { Toolbox } from '../../jobs/rules/datasets/tools.ts'
import { longestCall } from '../../jobs/rules/traces/conversation.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { Output } from './row-output.ts'
import type { Taker } from './taker.ts'

/** Works task by task: it holds the attempts at one together, up to `TASK_LENGTH`. */
export function openPairTaker(recipe: Recipe): Taker {
  const readTools = openToolReader()
  const write = openRowWriter(recipe)
  let attempts: TracedAttempt[] = []
  let length = 0
  function finish(output: Output) {
    pairUp(attempts, write, output)
    attempts = []
    length = 0
  }
  return {
    finish,
    take(trace, content, output, tools) {
      if (attempts[0] && attempts[0].trace.attempted !== trace.attempted) finish(output)
      const declared = readTools(content.llm_calls, tools)
      const { corrected_output } = content
      if (corrected_output !== null) {
        const row = correctedRow(content, corrected_output, declared, write)
        const spanId = spanOf(content)
        output.put(row, { trace, spanId, pair: { rejected: trace, source: 'correction' } })
        if (trace.preferred === null) return
      }
      const tried = attemptOf(trace, content, declared)
      if ('reason' in tried) return output.drop(tried.reason)
      length += tried.length
      if (length > TASK_LENGTH || attempts.length === TASK_ATTEMPTS) {
        return output.drop('task_too_large')
      }
      attempts.push(tried)
    },
  }
}

function attemptOf(
  trace: ListedTrace,
  content: CandidateContent,
  declared: Toolbox,
): TracedAttempt | Dropped {
  const messages = longestOf(content)
  const read = 'reason' in messages ? messages : readTrained(messages, declared)
  if ('reason' in read) return read
  const { quality, preferred, pair_id } = trace
  if (quality === null) return { reason: 'unscored' }
  const attempt = makeAttempt({ ...trace, quality }, read, declared)
  return { ...attempt, trace, spanId: spanOf(content), preferred, pair_id }
}

/** The span of the call that a conversation is of. */
function spanOf({ llm_calls }: CandidateContent) {
  return longestCall(llm_calls)?.span_id ?? null
}

/** What a person compared makes pairs with nothing else. */
function pairUp(attempts: readonly TracedAttempt[], write: RowWriter, output: Output) {
  const [compared, others] = [
    choosePreferences(attempts.filter(({ preferred }) => preferred !== null)),
    choosePairs(attempts.filter(({ preferred }) => preferred === null)),
  ]
  for (const { dropped } of [compared, others]) {
    for (const [reason, n] of dropped) output.drop(reason, n)
  }
  for (const pair of compared.pairs) {
    const { trace, spanId } = pair.chosen
    const rejected = pair.rejected.trace
    output.put(pairRow(pair, write), { trace, spanId, pair: { rejected, source: 'preference' } })
  }
  for (const pair of others.pairs) {
    const { trace, spanId } = pair.chosen
    const rejected = pair.rejected.trace
    const from = pair.replay
      ? ({ rejected, source: 'replay', replay: pair.replay.trace.replay } as const)
      : ({ rejected, source: 'attempts' } as const)
    const origin = { trace, spanId, pair: from, lengthRatio: pair.lengthRatio }
    output.put(pairRow(pair, write), origin)
  }
}

/** The limit of all attempts at one task together, in characters of JSON. */
const TASK_LENGTH = 64 << 20
const TASK_ATTEMPTS = 1000

type TracedAttempt = Attempt & Preference & { trace: ListedTrace; spanId: string | null }
