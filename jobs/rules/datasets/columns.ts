import type { RareMember } from './formats.ts'
import type { DatasetType, Recipe } from './recipe.ts'

/**
 * The type of a column. All that tells of it follows from it, and so agrees: DuckDB's type, what dataset
 * loaders read in the file's metadata and in the card, and the canonical JSON its value came from.
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
function trainingColumns(
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

function messagesWith(rare: readonly RareMember[]): Column {
  const members = rare.map((name) => [name, RARE[name]])
  return { list: { struct: { ...MESSAGE, ...Object.fromEntries(members) } } }
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
