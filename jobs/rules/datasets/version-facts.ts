import type { CardFacts } from './card-facts.ts'
import { publicRecipe } from './public-recipe.ts'
import type { Recipe, Split } from './recipe.ts'

/** What `provenance.json` tells of a version. */
export interface VersionFacts {
  readonly id: string
  readonly version_number: number
  readonly parent_version_id: string | null
  readonly content_hash: string | null
  readonly row_count: number | null
  readonly split_counts: Readonly<Record<Split, number>> | null
  readonly dropped_counts: Readonly<Record<string, number>> | null
  readonly losses: Readonly<Record<string, number>>
  readonly manifest_ids: readonly string[]
  readonly policy: object | null
  readonly redaction: CardFacts['redaction']
  readonly recipe: Recipe
}

interface VersionFile {
  readonly path: string
  readonly split: Split
  readonly row_count: number
  readonly size_bytes: number
  readonly sha256: string
}

/** A version and its files as JSON, so that a copy of them can be traced to its build. */
export function describeVersion(version: VersionFacts, files: readonly VersionFile[]): string {
  const facts = {
    version_id: version.id,
    version_number: version.version_number,
    parent_version_id: version.parent_version_id,
    content_hash: version.content_hash,
    row_count: version.row_count,
    split_counts: version.split_counts,
    dropped_counts: version.dropped_counts,
    losses: version.losses,
    manifest_ids: version.manifest_ids,
    policy: version.policy,
    redaction: publicRedaction(version.redaction),
    recipe: publicRecipe(version.recipe),
    files: files.map(({ path, split, row_count, size_bytes, sha256 }) => ({
      path,
      split,
      row_count,
      size_bytes,
      sha256,
    })),
  }
  return `${JSON.stringify(facts, null, 2)}\n`
}

/** Without the ruleset, a hash of settings that may be short enough to be guessed. */
function publicRedaction(redaction: VersionFacts['redaction']) {
  return redaction && { counts: redaction.counts, rows: redaction.rows }
}
