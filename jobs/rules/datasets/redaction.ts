import { hash } from 'node:crypto'
import { SENSITIVE_CLASSES } from '../core/sensitive.ts'

/** What redaction takes out: classes of values, and what the patterns of the project match. */
export const REDACTED = [...SENSITIVE_CLASSES, 'custom'] as const
/** What a request may name: `default` are the usual classes. */
export const REDACT_WORDS = [...REDACTED, 'default'] as const
export type Redacted = (typeof REDACTED)[number]
export type RedactWord = (typeof REDACT_WORDS)[number]

/** What a project has redacted besides the classes of values, and what it never wants redacted. */
export interface RedactionSettings {
  /** Patterns of RE2's syntax, which the class `custom` stands for; names tell them apart. */
  readonly patterns: readonly { readonly name: string; readonly pattern: string }[]
  /** Values that stay where one is found whole, in upper or lower case. */
  readonly keep: readonly string[]
}

/** The settings as a recipe has them: what the project changes later does not change its bytes. */
export interface Redaction {
  /** SHA-256 of the version of the rules and these settings, hexadecimal. */
  readonly ruleset: string
  readonly patterns: readonly string[]
  /** In lower case, sorted. */
  readonly keep: readonly string[]
}

/** What redaction took out of the rows of a version: how many values, by class, of how many rows. */
export interface VersionRedaction {
  /** That of the recipe. */
  readonly ruleset: string
  readonly counts: Readonly<Record<string, number>>
  readonly rows: number
}

export const NO_SETTINGS: RedactionSettings = { patterns: [], keep: [] }

/** The classes that a request names, each once and in their order. */
export function completeRedact(words: readonly RedactWord[] = []): readonly Redacted[] {
  return REDACTED.filter(
    (name) => words.includes(name) || (words.includes('default') && DEFAULT_REDACTED.has(name)),
  )
}

/** The redaction of a recipe; null where no class is asked for. Patterns are those of `custom`. */
export function freezeRedaction(
  asked: readonly Redacted[],
  settings: RedactionSettings,
): Redaction | null {
  if (asked.length === 0) return null
  const patterns = asked.includes('custom') ? settings.patterns.map(({ pattern }) => pattern) : []
  const keep = [...new Set(settings.keep.map((value) => value.toLowerCase()))].sort()
  const ruleset = hash('sha256', JSON.stringify([RULES_VERSION, patterns, keep]))
  return { ruleset, patterns, keep }
}

/**
 * Whether all the usual classes, at least, are taken out of the rows of a recipe, also of one that an earlier
 * release stored.
 */
export function isRedacted({
  options,
}: {
  readonly options: { readonly redact?: readonly Redacted[] }
}) {
  return [...DEFAULT_REDACTED].every((name) => options.redact?.includes(name))
}

/** Goes up with every change of what the classes find and of how it is replaced. */
const RULES_VERSION = 1
const DEFAULT_REDACTED: ReadonlySet<Redacted> = new Set(
  SENSITIVE_CLASSES.filter((name) => name !== 'ssn_us'),
)
