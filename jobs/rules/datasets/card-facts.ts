import type { RareMember } from './formats.ts'
import type { DatasetType, Recipe, Split } from './recipe.ts'
import type { VersionRedaction } from './redaction.ts'

/** What the card of a ready version tells. All but name and license stays as it is. */
export interface CardFacts {
  readonly dataset_name: string
  /** An identifier as hubs know them, for example `apache-2.0`, or `other`. */
  readonly license: string
  readonly dataset_type: DatasetType
  readonly version_id: string
  readonly version_number: number
  readonly ready_at: Date
  readonly recipe: Recipe
  readonly content_hash: string
  readonly row_count: number
  readonly token_estimate: number
  readonly split_counts: Readonly<Record<Split, number>>
  readonly dropped_counts: Readonly<Record<string, number>>
  readonly losses: Readonly<Record<string, number>>
  readonly warnings: readonly { readonly code: string; readonly message: string }[]
  readonly policy: VersionPolicy
  /** Null where nothing was redacted. */
  readonly redaction: VersionRedaction | null
  /** Null in versions that a release before this one built. */
  readonly composition: Composition | null
  readonly files: readonly CardFile[]
  /** Those of the traces, by agent and number: the first of `manifest_count`. */
  readonly manifests: readonly CardManifest[]
  readonly manifest_count: number
}

/** The decision policies that decided on traces of the rows, and on how many. */
export interface VersionPolicy {
  readonly decision_policies: readonly {
    readonly agent_name: string
    readonly version: number
    readonly traces: number
  }[]
}

/** What the rows of a version are made of. */
export interface Composition {
  /** Rows by the verdict on their trace. */
  readonly verdicts: Readonly<Record<string, number>>
  /** The scores that traces of the rows have, `MAX_SCORE_NAMES` at most, and how many traces have each. */
  readonly scores: readonly { readonly name: string; readonly traces: number }[]
  /** The mean log ratio of chosen to rejected turns, over pairs of attempts; null without any. */
  readonly length_ratio: number | null
  /** The members of messages that make columns besides those every version has. */
  readonly rare_members: readonly RareMember[]
}

export const MAX_SCORE_NAMES = 50

interface CardFile {
  readonly format: 'jsonl' | 'parquet'
  readonly split: Split
  readonly row_count: number
  readonly size_bytes: number
}

interface CardManifest {
  readonly agent_name: string
  readonly version_number: number
  readonly display_label: string | null
  readonly manifest_hash: string
}
