import type { Finding, FindingCode, Hit } from './finding.ts'
import type { ScannedText } from './scanned-text.ts'

/** Characters that show a reader something else than what a machine reads. */
export function* findCharacters({ raw }: ScannedText): Generator<Hit> {
  for (const { code, severity, pattern } of RULES) {
    for (const match of raw.text.matchAll(pattern)) {
      yield { code, severity, form: raw, offset: match.index }
    }
  }
}

/** In languages that part words or join letters by them, the invisible ones are part of the writing. */
const SIMPLE = String.raw`[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}_]`
const ZERO_WIDTH = String.raw`[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{1,64}`
/** ASCII once, which nobody sees; a flag is written with them behind its first sign. */
const TAGS = String.raw`(?<![\u{1f3f4}\u{e0020}-\u{e007f}])[\u{e0000}-\u{e007f}]`
/** One selects a picture, and several in a row are bytes. */
const SELECTORS = String.raw`[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{3}`

/** Letters that look like one of ASCII. */
const LOOKALIKES = 'аеорсухіјѕһԁԛԝӏкАВЕЅІЈКМНОРСТХУԚԜοανικρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսհոցՏԼ'
const ALIKE = `[A-Za-z${LOOKALIKES}]`

const RULES: readonly {
  readonly code: FindingCode
  readonly severity: Finding['severity']
  readonly pattern: RegExp
}[] = [
  { code: 'bidi_override', severity: 'critical', pattern: /[\u202d\u202e]/g },
  { code: 'bidi_isolate', severity: 'warning', pattern: /[\u202a\u202b\u2066-\u2068]/g },
  {
    code: 'zero_width',
    severity: 'warning',
    pattern: new RegExp(`(?<=${SIMPLE})${ZERO_WIDTH}(?=${SIMPLE})|${TAGS}|${SELECTORS}`, 'gu'),
  },
  {
    code: 'homoglyph',
    severity: 'warning',
    // A whole word of both scripts in which every letter reads as one of ASCII.
    pattern: new RegExp(
      `(?<![\\p{L}\\p{M}])(?=${ALIKE}{0,64}[A-Za-z])[A-Za-z]{0,64}[${LOOKALIKES}]${ALIKE}{0,64}(?![\\p{L}\\p{M}])`,
      'gu',
    ),
  },
]
