import { order } from '../../jobs/rules/core/order.ts'
import type { Column, Columns } from '../../jobs/rules/datasets/columns.ts'

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

/**
 * SQL that writes the columns of a row as the line it was read from: canonical JSON, but that the provenance
 * comes last. Members are ordered by name; `OPTIONAL` ones are left out when null, and the first member of an
 * object is never one of them. DuckDB escapes control characters in capitals and writes great numbers shorter
 * than canonical JSON does; otherwise the text is the same.
 */
export function lineSql({ provenance, ...training }: Columns) {
  const members = [...inOrder(training), ...inOrder({ ...(provenance && { provenance }) })]
  return objectSql(members, (name) => `"${name}"`, 0)
}

/** One `concat` joins all parts of a text, because each further one would copy all texts once more. */
function objectSql(all: Members, valueOf: (name: string) => string, depth: number): string {
  const withParts = all.some(([name]) => name === PARTS)
  const members = all
    .filter(([name]) => name !== PARTS)
    .map(([name, column], i) => {
      const value = valueOf(name)
      const written = valueSql(column, value, depth)
      const parts = [
        `'${i === 0 ? '{' : ','}"${name}":'`,
        ...(name === 'content' && withParts
          ? [partsOrSql(valueOf(PARTS), written, depth)]
          : written),
      ]
      return OPTIONAL.has(name)
        ? `case when ${value} is not null then concat(${parts.join(', ')}) end`
        : parts.join(', ')
    })
  return `concat(${members.join(', ')}, '}')`
}

function inOrder(columns: Columns): Members {
  return Object.entries(columns).sort(([a], [b]) => order(a, b))
}

/** The parts of the text of a value. */
function valueSql(column: Column, value: string, depth: number): string[] {
  if (column === 'text') return [`coalesce(to_json(${value})::varchar, 'null')`]
  if (typeof column === 'string') return [`${value}::varchar`]
  if ('struct' in column)
    return [objectSql(inOrder(column.struct), (name) => `${value}."${name}"`, depth)]
  const item = `x${depth}`
  const texts = `concat(${valueSql(column.list, item, depth + 1).join(', ')})`
  return [`'['`, `array_to_string(list_transform(${value}, lambda ${item}: ${texts}), ',')`, `']'`]
}

/** The parts of a content where there are some, else its text. */
function partsOrSql(parts: string, text: readonly string[], depth: number) {
  const list = valueSql({ list: 'json' }, parts, depth)
  return `case when ${parts} is not null then concat(${list.join(', ')}) else concat(${text.join(', ')}) end`
}

function hasParts(column: Column): column is { list: { struct: Columns } } {
  if (typeof column === 'string' || !('list' in column)) return false
  return typeof column.list !== 'string' && 'struct' in column.list && PARTS in column.list.struct
}

const DUCK_TYPES = {
  text: 'VARCHAR',
  flag: 'BOOLEAN',
  small: 'UTINYINT',
  count: 'UINTEGER',
  json: 'JSON',
} as const
const PARTS = 'content_parts'
/** The members of messages and of provenance that are left out when they are null. */
const OPTIONAL = new Set([
  'name',
  'reasoning_content',
  'refusal',
  'repair',
  'replay',
  'target_manifest_hash',
  'tool_call_id',
  'tool_calls',
])
/** Content and parts of message `m` as its line has them; the texts of parts are joined by line feeds. */
const OF_LINE: Readonly<Record<string, string>> = {
  content: `case json_type(m.content) when 'ARRAY' then array_to_string(list_filter(
    list_transform(m.content::JSON[], lambda p: coalesce(p->>'$.text', p->>'$.refusal')),
    lambda p: p is not null), chr(10)) else m.content->>'$' end`,
  content_parts: `case json_type(m.content) when 'ARRAY' then m.content::JSON[] end`,
}

type Members = readonly (readonly [name: string, column: Column])[]
