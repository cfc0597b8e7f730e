import type { Yaml } from '../core/yaml.ts'
import type { Column, Columns } from './columns.ts'

/** The value of the `huggingface` key of a Parquet file's metadata, as dataset loaders read it. */
export function loaderFeatures(columns: Columns) {
  return JSON.stringify({ info: { features: featuresOf(columns) } })
}

/** The same columns as the `features` of a card, which spells them otherwise. */
export function cardFeatures(columns: Columns): readonly CardFeature[] {
  return Object.entries(columns).map(([name, column]) => ({ name, ...cardType(column) }))
}

function featuresOf(columns: Columns): object {
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [name, featureOf(column)]),
  )
}

function featureOf(column: Column): object {
  if (column === 'json') return { _type: 'Json' }
  if (typeof column === 'string') return { dtype: LOADER_TYPES[column], _type: 'Value' }
  if ('list' in column) return { feature: featureOf(column.list), _type: 'List' }
  return featuresOf(column.struct)
}

/** A list of values or objects is the list of their type, without a name for it. */
function cardType(column: Column): CardType {
  if (typeof column === 'string') return { dtype: LOADER_TYPES[column] }
  if ('struct' in column) return { struct: cardFeatures(column.struct) }
  const item = cardType(column.list)
  return { list: item['dtype'] ?? item['struct'] ?? item }
}

const LOADER_TYPES = {
  text: 'string',
  flag: 'bool',
  small: 'uint8',
  count: 'uint32',
  json: 'json',
} as const

type CardType = Readonly<Record<string, Yaml>>
type CardFeature = CardType & { readonly name: string }
