import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { decodeContents } from '../../jobs/rules/traces/content.ts'
import { manifestOf } from './listed-trace.ts'
import type { ManifestTools, RawTrace } from './listed-trace.ts'
import { openPairTaker } from './pair-taker.ts'
import { openOutput } from './row-output.ts'
import type { MadeRows } from './row-output.ts'
import { openRowTaker } from './row-taker.ts'

/** Makes rows of traces that come in batches. For pairs, the traces of one task must follow each other. */
export interface BatchMaker {
  /**
   * Takes traces, at least one, until the lines of their rows reach `MADE_BYTES`.
   * @param spare as that of `openOutput`
   */
  make(traces: readonly RawTrace[], tools: ManifestTools, spare?: ArrayBuffer): MadeRows
  /** Makes the rows of what was held back for traces that might have come. */
  finish(): MadeRows
}

export function openBatchMaker(recipe: Recipe): BatchMaker {
  const known = new Map<string, string>()
  const takes = recipe.dataset_type === 'dpo' ? openPairTaker(recipe) : openRowTaker(recipe)
  return {
    make(traces, tools, spare) {
      for (const [id, list] of tools) known.set(id, list)
      const output = openOutput(recipe, spare)
      let taken = 0
      for (const [{ trace, content: _, ...previews }, content] of decodeContents(traces)) {
        const declared = known.get(manifestOf(trace) ?? '')
        takes.take(trace, { ...content, ...previews }, output, declared)
        taken++
        if (output.bytes() >= MADE_BYTES) break
      }
      return { ...output.finish(), taken }
    },
    finish() {
      const output = openOutput(recipe)
      takes.finish(output)
      return { ...output.finish(), taken: 0 }
    },
  }
}

/** How many bytes of lines are made at once. Compressed bytes are no measure: some contents shrink far more. */
export const MADE_BYTES = 16 << 20
