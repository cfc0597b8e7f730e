import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { openBatchMaker } from '../../workers/datasets/batch-maker.ts'
import type { RawTrace } from '../../workers/datasets/listed-trace.ts'
import type { RowList } from '../../workers/datasets/row-list.ts'
import { openShardFiles } from '../../workers/datasets/shard-files.ts'
import type { Shard } from '../../workers/datasets/shard-files.ts'
import { openSignatureFile } from '../../workers/datasets/signature-file.ts'

/** Makes the rows of traces, which become one file in `folder` and rows of the list. */
export function writeRows(
  recipe: Recipe,
  traces: readonly RawTrace[],
  folder: string,
  list: Pick<RowList, 'addRow' | 'flush'>,
): Shard {
  const files = openShardFiles(folder, Infinity)
  const maker = openBatchMaker(recipe, { files, signatures: openSignatureFile(folder) })
  const made = [...maker.make(traces, new Map()), ...maker.finish()]
  for (const row of made.flatMap(({ rows }) => rows)) list.addRow(row)
  list.flush()
  const [file] = made
    .flatMap(({ files: finished }) => finished)
    .filter(({ row_count: rows }) => rows > 0)
  if (!file) throw new Error('The traces gave no row')
  return file
}
