import { hash } from 'node:crypto'
import { hasUnfitText } from '../core/training-json.ts'
import { lossesOf, rareMembersOf, rowText } from './formats.ts'
import type { RareMember, RowParts } from './formats.ts'
import type { Conversation, Dropped } from './messages.ts'
import { nearScope } from './near-scope.ts'
import { openRowSigner } from './near-text.ts'
import type { Recipe } from './recipe.ts'
import type { Toolbox } from './tools.ts'

export interface Row {
  /** Canonical JSON of the training part. */
  readonly training: Buffer
  /** SHA-256 of `training`. */
  readonly hash: Buffer
  readonly tokens: number
  /** It holds the corrected output. */
  readonly corrected: boolean
  readonly tools_from: Toolbox['from']
  readonly rareMembers: Readonly<Record<RareMember, boolean>>
  readonly losses: Losses
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
  const sign = nearScope(recipe) === 'none' ? undefined : openRowSigner()
  return ({ parts, tools, leftOut, corrected }) => {
    if (!isTrained(parts)) return { reason: 'no_trainable_turn' }
    const text = rowText(parts, tools, options)
    if (typeof text !== 'string') return text
    if (hasUnfitText(text)) return { reason: 'invalid.text' }
    if (text.length > MAX_ROW_LENGTH) return { reason: 'too_long' }
    // Four characters of JSON a token: right within a third for English, code and JSON.
    const tokens = Math.ceil(text.length / 4)
    if (options.max_tokens !== null && tokens > options.max_tokens) return { reason: 'too_long' }
    const training = Buffer.from(text)
    return {
      training,
      hash: hash('sha256', training, 'buffer'),
      tokens,
      corrected,
      tools_from: tools.from,
      rareMembers: rareMembersOf(parts, options),
      losses: { ...lossesOf(parts, options), messages_dropped: leftOut },
      signature: sign?.(parts) ?? null,
    }
  }
}

function isTrained({ lists }: RowParts) {
  const said = Object.values(lists).flat()
  return said.some(({ weight }) => weight === 1)
}

/** Characters of a row's text; what reads the rows needs a bound for its buffers. */
const MAX_ROW_LENGTH = 4 << 20
