import { trainingJson } from '../core/training-json.ts'
import type { TrainingCall } from './call-book.ts'
import { readContent } from './content.ts'
import { keepsReasoning } from './formats.ts'
import type { ListName, RowParts } from './formats.ts'
import type { Dropped, TrainingMessage } from './messages.ts'
import type { Recipe } from './recipe.ts'
import type { Redacted } from './redaction.ts'
import { openTextRedactors } from './redact-text.ts'
import type { TextRedactor } from './redact-text.ts'
import { findResidue } from './redact-residue.ts'
import { refit } from './tools.ts'
import type { Toolbox } from './tools.ts'

/** How many values of each class were taken out of a row. */
export type RedactionCounts = readonly (readonly [name: Redacted, count: number])[]

export interface RowRedaction {
  /**
   * Takes values out of the messages of a row, in their order: out of contents, refusals, reasoning that is
   * kept, and arguments. Names, ids and tools stay. `redact.schema`: arguments do not fit any more;
   * `redact.limit`: the patterns of the project would take too long.
   */
  redact(parts: RowParts, tools: Toolbox): Redactions | Dropped
  /** Looks at a row as it is written: `redact.residual` where it still holds a value, or `redact.limit`. */
  check(text: string, tools: Toolbox): Dropped | undefined
}

/** How the rows of a recipe are redacted. Without classes nothing is touched or looked at. */
export function openRowRedaction(recipe: Recipe): RowRedaction {
  const { options, redaction } = recipe
  if (!redaction) return { redact: (parts) => ({ parts, counts: [] }), check: () => undefined }
  const openRow = openTextRedactors(options.redact, redaction)
  const look = findResidue(options.redact, redaction)
  const withReasoning = keepsReasoning(options)
  return {
    redact(parts, tools) {
      const row = openRow(textsOf(parts))
      const lists: Partial<Record<ListName, readonly TrainingMessage[]>> = {}
      for (const [name, messages] of Object.entries(parts.lists)) {
        const redacted = messages.map((message) =>
          redactMessage(message, { row, tools, withReasoning }),
        )
        if (!redacted.every((message) => message !== undefined)) return { reason: 'redact.schema' }
        lists[name as ListName] = redacted
      }
      if (row.isOverBudget()) return { reason: 'redact.limit' }
      return { parts: { ...parts, lists }, counts: [...row.counts] }
    },
    check(text, tools) {
      const found = look(text, tools)
      return found && { reason: `redact.${found}` }
    },
  }
}

function* textsOf({ lists }: RowParts): Generator<string> {
  for (const { content, parts = [], reasoning, refusal, tool_calls = [] } of Object.values(
    lists,
  ).flat()) {
    for (const text of [content, reasoning, refusal, ...parts]) if (text) yield text
    for (const call of tool_calls) yield call.arguments
  }
}

/** Undefined where the arguments of a call do not fit their schema any more. */
function redactMessage(message: TrainingMessage, redacting: Redacting) {
  const { row, withReasoning } = redacting
  const { content, parts, reasoning, refusal, tool_calls } = message
  const calls = tool_calls?.map((call) => redactCall(call, redacting))
  if (calls && !calls.every((call) => call !== undefined)) return undefined
  return {
    ...message,
    ...(parts ? redactParts(parts, row) : { content: content && row.redactText(content) }),
    ...(reasoning !== undefined && withReasoning && { reasoning: row.redactText(reasoning) }),
    ...(refusal !== undefined && { refusal: row.redactText(refusal) }),
    ...(calls && { tool_calls: calls }),
  }
}

function redactParts(parts: readonly string[], row: TextRedactor) {
  const redacted = parts.map((part) => JSON.parse(row.redactText(part)) as unknown)
  const { text, ...others } = readContent(redacted) as Content
  return { content: text, ...others }
}

function redactCall(call: TrainingCall, { row, tools }: Redacting): TrainingCall | undefined {
  const text = row.redactText(call.arguments)
  if (text === call.arguments) return call
  const redacted = JSON.parse(text) as TrainingCall['parsed']
  const parsed = refit(redacted, call.parsed, tools.schemas.get(call.name))
  if (!parsed) return undefined
  const canonical = trainingJson(parsed) as string
  return { ...call, arguments: parsed === redacted ? text : canonical, canonical, parsed }
}

interface Redactions {
  readonly parts: RowParts
  readonly counts: RedactionCounts
}
interface Redacting {
  readonly row: TextRedactor
  readonly tools: Toolbox
  readonly withReasoning: boolean
}
type Content = NonNullable<ReturnType<typeof readContent>>
