/** What a search box holds, for `matchesText`. */
export interface SearchBox {
  readonly text: string
  /** The last word as text search operands that find its beginnings; '' where there is none. */
  readonly beginning: string
  /** What has to be found besides when the beginning is; '' for nothing. */
  readonly besides: string
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
  if (isInQuotes || /^$|^-|"/.test(word)) return { text, beginning: '', besides: '' }
  return { text, beginning: beginningOf(word), besides: ENDS_WITH_OR.test(before) ? '' : before }
}

/**
 * Postgres keeps an address whole and takes `rate_limit` or `self-service` apart, so the word may begin
 * one lexeme or have several, of which only the last is not typed to its end.
 */
function beginningOf(word: string) {
  const parts = word.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  const whole = `${quote(word)}:*`
  return parts.length > 1 ? `${whole} | ${parts.map(quote).join(' & ')}:*` : whole
}

function quote(lexeme: string) {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** The word is then an alternative to all that stands before it. */
const ENDS_WITH_OR = /\S\s+or\s+$/i
