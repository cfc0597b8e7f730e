import type { SensitiveClass } from '../core/sensitive.ts'
import { isObject } from '../core/reader.ts'
import type { ListName } from './formats.ts'
import { openTextRedactors } from './redact-text.ts'
import type { Redacted, Redaction } from './redaction.ts'
import type { Toolbox } from './tools.ts'

/**
 * Returns a function that looks for values of the classes asked for, and of those that must never get out, in
 * a row as it is written. It reads the row as a trainer does, all but names; in tools, which stay as they are,
 * it looks for those alone that must never get out.
 */
export function findResidue(asked: readonly Redacted[], redaction: Redaction) {
  const openRow = openTextRedactors([...asked, ...ALWAYS_LOOKED_FOR], redaction)
  const openTools = openTextRedactors(ALWAYS_LOOKED_FOR, { ...redaction, patterns: [] })
  const known = new WeakMap<Toolbox, boolean>()
  const holdsKey = (tools: Toolbox) =>
    known.getOrInsertComputed(tools, () => openTools().redactText(tools.json) !== tools.json)
  return (row: string, tools: Toolbox): 'residual' | 'limit' | undefined => {
    if (holdsKey(tools)) return 'residual'
    const { redactText, isOverBudget } = openRow()
    for (const text of textsOf(JSON.parse(row) as WrittenRow))
      if (redactText(text) !== text) return 'residual'
    return isOverBudget() ? 'limit' : undefined
  }
}

function* textsOf(row: WrittenRow): Generator<string> {
  const { conversations = [], system, tools: _, label: __, ...lists } = row
  yield* asText(system)
  for (const { value } of conversations) yield value
  for (const messages of Object.values(lists)) {
    for (const { content, reasoning_content, refusal, tool_calls = [] } of messages) {
      for (const said of [content, reasoning_content, refusal]) yield* asText(said)
      for (const { function: called } of tool_calls) yield* asText(called.arguments)
    }
  }
}

/** Arguments may be objects, and contents lists of parts. */
function* asText(said: unknown): Generator<string> {
  if (typeof said === 'string') yield said
  else if (isObject(said) || Array.isArray(said)) yield JSON.stringify(said)
}

/** They open doors and accounts: a row with one is not written, whatever was asked for. */
export const ALWAYS_LOOKED_FOR: readonly SensitiveClass[] = [
  'bearer',
  'jwt',
  'api_key',
  'private_key',
  'card',
]

/** A row as `rowText` writes it, in any format. */
interface WrittenRow extends Partial<Record<ListName, readonly WrittenMessage[]>> {
  readonly tools: unknown
  readonly label?: boolean
  readonly system?: string | null
  readonly conversations?: readonly { readonly value: string }[]
}
interface WrittenMessage {
  readonly content: unknown
  readonly reasoning_content?: string
  readonly refusal?: string
  readonly tool_calls?: readonly { readonly function: { readonly arguments: unknown } }[]
}
