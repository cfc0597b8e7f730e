import { hash } from 'node:crypto'
import { hasUnfitText } from '../core/training-json.ts'
import { lossesOf, rareMembersOf, rowText } from './formats.ts'
import type { RareMember, RowParts } from './formats.ts'
import type { Conversation, Dropped } from './messages.ts'
import { nearScope } from './near-scope.ts'
import { openRowSigner } from './near-text.ts'
import type { Recipe } from './recipe.ts'
import { openRowRedaction } from './redact-row.ts'
import type { RedactionCounts } from './redact-row.ts'
import type { Toolbox } from './tools.ts'

export interface Row {
  /** Canonical JSON of the training part. */
  readonly training: string
  /** SHA-256 of `training` in UTF-8. */
  readonly hash: Buffer
  readonly tokens: number
  /** All it has but the rejected turn of a pair. */
  readonly messages: number
  /** It holds the corrected output. */
  readonly corrected: boolean
  readonly tools_from: Toolbox['from']
  readonly rareMembers: Readonly<Record<RareMember, boolean>>
  readonly losses: Losses
  readonly redactions: RedactionCounts
  /** See `signature.ts`; null where no near-duplicates are looked for. */
  readonly signature: Int32Array | null
}

/** What a row does not tell of its trace, by word: how many messages it concerns. */
export type Losses = Readonly<Record<Loss, number>>
export const LOSSES = ['members_dropped', 'messages_dropped', 'reasoning_dropped'] as const
export type Loss = (typeof LOSSES)[number]

export type RowWriter = (unwritten: UnwrittenRow) => Row | Dropped

export interface UnwrittenRow extends Pick<Conversation, 'leftOut'> {
  readonly tools: Toolbox
  readonly parts: RowParts
  readonly corrected: boolean
}

/** Returns a function that writes a row and checks it as a whole. */
export function openRowWriter(recipe: Recipe): RowWriter {
  const { options } = recipe
  const { redact, check } = openRowRedaction(recipe)
  const sign = nearScope(recipe) === 'none' ? undefined : openRowSigner()
  return ({ parts: said, tools, leftOut, corrected }) => {
    const reason = faultOfTurns(countTrained(said), options)
    if (reason !== undefined) return { reason }
    const redacted = redact(said, tools)
    if ('reason' in redacted) return redacted
    const { parts, counts: redactions } = redacted
    const training = rowText(parts, tools, options)
    if (typeof training !== 'string') return training
    if (hasUnfitText(training)) return { reason: 'invalid.text' }
    if (training.length > MAX_ROW_LENGTH) return { reason: 'too_long' }
    // Four characters of JSON a token: right within a third for English, code and JSON.
    const tokens = Math.ceil(training.length / 4)
    if (options.max_tokens !== null && tokens > options.max_tokens) return { reason: 'too_long' }
    const residue = check(training, tools)
    if (residue) return residue
    return {
      training,
      hash: hash('sha256', training, 'buffer'),
      tokens,
      messages: saidIn(said).length,
      corrected,
      tools_from: tools.from,
      rareMembers: rareMembersOf(parts, options),
      losses: { ...lossesOf(parts, options), messages_dropped: leftOut },
      redactions,
      signature: sign?.(parts) ?? null,
    }
  }
}

/** The turns a row trains. */
function countTrained(parts: RowParts) {
  return saidIn(parts).filter(({ weight }) => weight === 1).length
}

/** The messages of a row. The rejected one of a pair is what the chosen one stands against. */
function saidIn({ lists: { rejected: _, ...lists } }: RowParts) {
  return Object.values(lists).flat()
}

function faultOfTurns(count: number, { max_turns, min_turns }: Recipe['options']) {
  if (count === 0) return 'no_trainable_turn'
  if (max_turns !== null && count > max_turns) return 'too_many_turns'
  return min_turns !== null && count < min_turns ? 'too_few_turns' : undefined
}

/** Characters of a row's text; what reads the rows needs a bound for its buffers. */
const MAX_ROW_LENGTH = 4 << 20
