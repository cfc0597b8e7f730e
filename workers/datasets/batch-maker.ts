import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { decodeContent } from '../../jobs/rules/traces/content.ts'
import { manifestOf } from './listed-trace.ts'
import type { ManifestTools, RawTrace } from './listed-trace.ts'
import { openPairTaker } from './pair-taker.ts'
import { openOutput } from './row-output.ts'
import type { MadeRows, RowFiles } from './row-output.ts'
import { openRowTaker } from './row-taker.ts'

/** Makes rows of traces that come in batches. For pairs, the traces of one task must follow each other. */
export interface BatchMaker {
  /** Gives the rows of traces, some at a time. */
  make(traces: readonly RawTrace[], tools: ManifestTools): Generator<MadeRows>
  /** Makes the rows of what was held back for traces that might have come, and completes the files. */
  finish(): Generator<MadeRows>
}

export function openBatchMaker(recipe: Recipe, to: RowFiles): BatchMaker {
  const known = new Map<string, string>()
  const output = openOutput(recipe, to)
  const takes = recipe.dataset_type === 'dpo' ? openPairTaker(recipe) : openRowTaker(recipe)
  return {
    *make(traces, tools) {
      for (const [id, list] of tools) known.set(id, list)
      for (const { trace, content: bytes, ...previews } of traces) {
        const declared = known.get(manifestOf(trace) ?? '')
        takes.take(trace, { ...decodeContent(bytes), ...previews }, output, declared)
        if (output.isFull()) yield output.take()
      }
      yield output.take()
    },
    *finish() {
      takes.finish(output)
      to.files.finish()
      to.signatures.close()
      yield output.take()
    },
  }
}
