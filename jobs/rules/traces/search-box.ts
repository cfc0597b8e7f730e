/** What a search box holds, for `matchesText`. */
export interface SearchBox {
  readonly text: string
  /** The last word as a text search operand that finds its beginnings; '' where there is none. */
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
  const operand = word.replaceAll('\\', '\\\\').replaceAll("'", "''")
  return { text, beginning: `'${operand}':*`, besides: ENDS_WITH_OR.test(before) ? '' : before }
}

/** The word is then an alternative to all that stands before it. */
const ENDS_WITH_OR = /\S\s+or\s+$/i
