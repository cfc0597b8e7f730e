import type { Finding, FindingCode, Hit } from './finding.ts'
import type { ScannedText } from './scanned-text.ts'

/** A way to write what a finding is about, looked for in the words of a text. */
export interface WordRule {
  readonly code: FindingCode
  readonly severity: Finding['severity']
  /** In lower case. A text without any of them is not looked at further; none for any text. */
  readonly hints: readonly string[]
  /**
   * Every repetition in it has an upper bound, so that the time it takes is linear in the text. Case is
   * folded.
   */
  readonly pattern: RegExp
  /** Looks at what was found more closely. */
  readonly isOne?: (match: RegExpExecArray) => boolean
}

export function* findWords(text: ScannedText, rules: readonly WordRule[]): Generator<Hit> {
  for (const { code, severity, hints, pattern, isOne } of rules) {
    if (!hints.some((hint) => text.lower.includes(hint))) continue
    for (const match of text.words.text.matchAll(pattern)) {
      if (isOne && !isOne(match)) continue
      yield { code, severity, form: text.words, offset: match.index }
    }
  }
}
