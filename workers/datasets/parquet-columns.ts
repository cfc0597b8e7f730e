import { order } from '../../jobs/rules/core/order.ts'
import type { RareMember } from '../../jobs/rules/datasets/formats.ts'
import type { DatasetType, Recipe } from '../../jobs/rules/datasets/recipe.ts'

/**
 * The type of a column. Three things follow from it, and so agree: DuckDB's type, what dataset loaders
 * read in the file's metadata, and the canonical JSON its value came from.
 */
export type Column =
  | 'text'
  | 'flag'
  | 'small'
  | 'count'
  /** Any JSON value, kept as text of the JSON logical type. */
  | 'json'
  | { readonly list: Column }
  | { readonly struct: Columns }

export type Columns = Readonly<Record<string, Column>>

/**
 * The training part of a version's rows.
 * @param rare the members that only some messages have, as far as any of the version has them
 */
export function trainingColumns(
  { dataset_type: type, options }: Recipe,
  rare: readonly RareMember[],
): Columns {
  const messages = messagesWith(rare)
  switch (type) {
    case 'sft':
      return options.format === 'sharegpt'
        ? { conversations: { list: TURN }, system: 'text', tools: 'text' }
        : { messages, tools: TOOLS }
    case 'dpo':
      return { prompt: messages, chosen: messages, rejected: messages, tools: TOOLS }
    case 'kto':
      return { prompt: messages, completion: messages, label: 'flag', tools: TOOLS }
  }
}

/** All columns of a version's files. */
export function columnsOf(recipe: Recipe, rare: readonly RareMember[]): Columns {
  const from = { struct: provenance(recipe.dataset_type) }
  return { ...trainingColumns(recipe, rare), provenance: from }
}

/** The type of a column in the JSON lines, where parts of a content stand in the place of its text. */
export function lineType(column: Column): string {
  return duckType(
    hasParts(column) ? { list: { struct: { ...column.list.struct, content: 'json' } } } : column,
  )
}

/** SQL that makes a column of the file of the one of the lines. */
export function readSql(name: string, column: Column) {
  if (!hasParts(column)) return `"${name}"`
  const members = Object.keys(column.list.struct).map(
    (member) => `"${member}" := ${OF_LINE[member] ?? `m."${member}"`}`,
  )
  return `list_transform("${name}", lambda m: struct_pack(${members.join(', ')})) as "${name}"`
}

/** The type of a column, exactly as DuckDB writes it. */
export function duckType(column: Column): string {
  if (typeof column === 'string') return DUCK_TYPES[column]
  if ('list' in column) return `${duckType(column.list)}[]`
  const members = Object.entries(column.struct).map(
    ([name, member]) => `"${name}" ${duckType(member)}`,
  )
  return `STRUCT(${members.join(', ')})`
}

/** The value of the `huggingface` key of the file's metadata. */
export function loaderFeatures(columns: Columns) {
  return JSON.stringify({ info: { features: featuresOf(columns) } })
}

/**
 * SQL that writes the columns as the canonical JSON they were read from. Members are ordered by name;
 * `OPTIONAL` ones are left out when null, and the first member of an object is never one of them. DuckDB
 * escapes control characters in capitals and writes great numbers shorter than canonical JSON does;
 * otherwise the text is the same.
 */
export function canonicalSql(columns: Columns) {
  return objectSql(columns, (name) => `"${name}"`, 0)
}

/** One `concat` joins all parts of a text, because each further one would copy all texts once more. */
function objectSql(columns: Columns, valueOf: (name: string) => string, depth: number): string {
  const members = Object.entries(columns)
    .filter(([name]) => name !== PARTS)
    .sort(([a], [b]) => order(a, b))
    .map(([name, column], i) => {
      const value = valueOf(name)
      const written = valueSql(column, value, depth)
      const parts = [
        `'${i === 0 ? '{' : ','}"${name}":'`,
        ...(name === 'content' && PARTS in columns
          ? [partsOrSql(valueOf(PARTS), written, depth)]
          : written),
      ]
      return OPTIONAL.has(name)
        ? `case when ${value} is not null then concat(${parts.join(', ')}) end`
        : parts.join(', ')
    })
  return `concat(${members.join(', ')}, '}')`
}

/** The parts of the text of a value. */
function valueSql(column: Column, value: string, depth: number): string[] {
  if (column === 'text') return [`coalesce(to_json(${value})::varchar, 'null')`]
  if (typeof column === 'string') return [`${value}::varchar`]
  if ('struct' in column) return [objectSql(column.struct, (name) => `${value}."${name}"`, depth)]
  const item = `x${depth}`
  const texts = `concat(${valueSql(column.list, item, depth + 1).join(', ')})`
  return [`'['`, `array_to_string(list_transform(${value}, lambda ${item}: ${texts}), ',')`, `']'`]
}

/** The parts of a content where there are some, else its text. */
function partsOrSql(parts: string, text: readonly string[], depth: number) {
  const list = valueSql({ list: 'json' }, parts, depth)
  return `case when ${parts} is not null then concat(${list.join(', ')}) else concat(${text.join(', ')}) end`
}

function messagesWith(rare: readonly RareMember[]): Column {
  const members = rare.map((name) => [name, RARE[name]])
  return { list: { struct: { ...MESSAGE, ...Object.fromEntries(members) } } }
}

function hasParts(column: Column): column is { list: { struct: Columns } } {
  if (typeof column === 'string' || !('list' in column)) return false
  return typeof column.list !== 'string' && 'struct' in column.list && PARTS in column.list.struct
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

function provenance(type: DatasetType): Columns {
  return {
    ...TRACE,
    ...(type === 'sft' && REPAIR),
    ...(type === 'dpo' && PAIR),
    repaired: 'flag',
    ...(type !== 'kto' && { annotation_id: 'text' as const }),
    tools_from: 'text',
    row_id: 'text',
  }
}

const DUCK_TYPES = {
  text: 'VARCHAR',
  flag: 'BOOLEAN',
  small: 'UTINYINT',
  count: 'UINTEGER',
  json: 'JSON',
} as const
const LOADER_TYPES = { text: 'string', flag: 'bool', small: 'uint8', count: 'uint32' } as const

const PARTS = 'content_parts'
/** The members of a message that are left out when they are null. */
const OPTIONAL = new Set(['name', 'reasoning_content', 'refusal', 'tool_call_id', 'tool_calls'])
const MESSAGE: Columns = {
  role: 'text',
  content: 'text',
  tool_calls: { list: 'json' },
  tool_call_id: 'text',
  name: 'text',
  weight: 'small',
}
const RARE: Readonly<Record<RareMember, Column>> = {
  content_parts: { list: 'json' },
  refusal: 'text',
  reasoning_content: 'text',
}
/** Content and parts of message `m` as its line has them; the texts of parts are joined by line feeds. */
const OF_LINE: Readonly<Record<string, string>> = {
  content: `case json_type(m.content) when 'ARRAY' then array_to_string(list_filter(
    list_transform(m.content::JSON[], lambda p: coalesce(p->>'$.text', p->>'$.refusal')),
    lambda p: p is not null), chr(10)) else m.content->>'$' end`,
  content_parts: `case json_type(m.content) when 'ARRAY' then m.content::JSON[] end`,
}
const TURN: Column = { struct: { from: 'text', value: 'text', weight: 'small' } }
const TOOLS: Column = { list: 'json' }
const TRACE: Columns = {
  trace_id: 'text',
  agent_name: 'text',
  manifest_hash: 'text',
  verdict: 'text',
  scores: 'json',
  task_id: 'text',
  session_id: 'text',
}
/** Null but for patched traces. */
const REPAIR: Columns = {
  target_manifest_hash: 'text',
  repair: { struct: { batch_id: 'text', target_manifest_id: 'text', rules: { list: 'count' } } },
}
const PAIR: Columns = {
  rejected: { struct: TRACE },
  pair_source: 'text',
  /** Null but for replays that are the result of a task. */
  replay: { struct: { batch_id: 'text', task_id: 'text', outcome: 'text' } },
}
