import { yamlLines } from '../core/yaml.ts'
import type { CardFacts } from './card-facts.ts'
import { columnsOf } from './columns.ts'
import { cardFeatures } from './features.ts'
import { SPLITS } from './recipe.ts'
import type { Split } from './recipe.ts'

/**
 * The front matter of a card, with its fences. A split without rows is left out, because loaders cannot
 * open it, and so are the features of a version of which they are not known.
 */
export function cardFrontMatter(facts: CardFacts): string {
  const { recipe, composition } = facts
  const features = composition && cardFeatures(columnsOf(recipe, composition.rare_members))
  const splits = SPLITS.map((name) => describeSplit(facts, name)).filter(
    ({ num_examples }) => num_examples > 0,
  )
  const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0)
  const paths = splits.map(({ name }) => ({ split: name, path: `data/${name}-*.parquet` }))
  const lines = yamlLines({
    license: facts.license,
    pretty_name: facts.dataset_name,
    task_categories: ['text-generation'],
    size_categories: [sizeCategory(facts.row_count)],
    ...(paths.length > 0 && { configs: [{ config_name: 'default', data_files: paths }] }),
    dataset_info: {
      ...(features && { features }),
      splits,
      download_size: sum(facts.files.filter(isParquet).map(({ size_bytes }) => size_bytes)),
      dataset_size: sum(splits.map(({ num_bytes }) => num_bytes)),
    },
  })
  return ['---', ...lines, '---', ''].join('\n')
}

/** Its bytes are those of its JSON lines. */
function describeSplit({ files }: CardFacts, name: Split) {
  const lines = files.filter(({ format, split }) => format === 'jsonl' && split === name)
  return {
    name,
    num_bytes: lines.reduce((total, { size_bytes }) => total + size_bytes, 0),
    num_examples: lines.reduce((total, { row_count }) => total + row_count, 0),
  }
}

function isParquet({ format }: CardFacts['files'][number]) {
  return format === 'parquet'
}

/** In the words of the hub, of which each is ten times the one before. */
function sizeCategory(rows: number) {
  const step = Math.max(0, String(rows).length - 3)
  return step === 0 ? `n<${SIZES[0]}` : `${SIZES[step - 1]}<n<${SIZES[step]}`
}

const SIZES = ['1K', '10K', '100K', '1M', '10M', '100M', '1B', '10B'] as const
