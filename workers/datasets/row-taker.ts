import type { CandidateContent } from '../../jobs/rules/datasets/candidates.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { openRowMaker } from '../../jobs/rules/datasets/rows.ts'
import { longestCall } from '../../jobs/rules/traces/conversation.ts'
import type { Taker } from './taker.ts'

/** Works trace by trace, for versions of type sft and kto. */
export function openRowTaker(recipe: Recipe): Taker {
  const rowsOf = openRowMaker(recipe)
  return {
    take(trace, content, output, tools) {
      const spanIds = listSpans(content, recipe)
      for (const [i, row] of rowsOf(trace, content, tools).entries()) {
        output.put(row, { trace, spanId: spanIds[i] ?? null })
      }
    },
    finish: () => undefined,
  }
}

/** The spans of the calls that the rows of a trace are made of, in the order of the rows. */
function listSpans({ llm_calls: calls }: CandidateContent, { options }: Recipe) {
  if (options.rows === 'call') return calls.map(({ span_id }) => span_id)
  return [longestCall(calls)?.span_id]
}
