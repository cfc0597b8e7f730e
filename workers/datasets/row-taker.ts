import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { openRowMaker } from '../../jobs/rules/datasets/rows.ts'
import type { Taker } from './taker.ts'

/** Works trace by trace, for versions of type sft and kto. */
export function openRowTaker(recipe: Recipe): Taker {
  const rowsOf = openRowMaker(recipe)
  return {
    take(trace, content, output, tools) {
      for (const row of rowsOf(trace, content, tools)) output.put(row, { trace })
    },
    finish: () => undefined,
  }
}
