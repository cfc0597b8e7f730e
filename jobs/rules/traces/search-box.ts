/** What a search box holds, for `matchesText`. */
export interface SearchBox {
  readonly text: string
  /** The last word as text search operands that find its beginnings; '' where there is none. */
  readonly beginning: string
  /** What has to be found besides when the beginning is; '' for nothing. */
  readonly besides: string
  /** The beginning is of so few letters that a great part of all words may begin with them. */
  readonly isShort: boolean
}

/**
 * Reads what a person typed. The last word is perhaps not typed to its end, so it also stands for the
 * words it begins; one that is quoted or excluded stands for itself alone.
 */
export function readSearchBox(text: string): SearchBox {
  const typed = text.trimEnd()
  const at = typed.search(/\S*$/)
  const [before, word] = [typed.slice(0, at), typed.slice(at)]
  const isInQuotes = before.split('"').length % 2 === 0
  if (isInQuotes || /^$|^-|"/.test(word))
    return { text, beginning: '', besides: '', isShort: false }
  const parts = word.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return {
    text,
    beginning: beginningOf(word, parts),
    besides: ENDS_WITH_OR.test(before) ? '' : before,
    isShort: (parts.at(-1) ?? '').length < FEWEST_LETTERS,
  }
}

/**
 * Postgres keeps an address whole and takes `rate_limit` or `self-service` apart, so the word may begin
 * one lexeme or have several, of which only the last is not typed to its end.
 */
function beginningOf(word: string, parts: readonly string[]) {
  const whole = `${quote(word)}:*`
  return parts.length > 1 ? `${whole} | ${parts.map(quote).join(' & ')}:*` : whole
}

function quote(lexeme: string) {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

const FEWEST_LETTERS = 3

/** The word is then an alternative to all that stands before it. */
const ENDS_WITH_OR = /\S\s+or\s+$/i
