/**
 * Private keys in PEM and OpenPGP armour, from the first line to the last. Of one whose end is missing,
 * what still looks like its content.
 */
export function findPrivateKeys(text: string): { start: number; end: number }[] {
  const found = []
  // Where the next last line is, or -1. Looked for before the loop, V8 would look again in each round.
  let last = 0
  for (let start = text.indexOf(FIRST_LINE); start >= 0; start = text.indexOf(FIRST_LINE, start)) {
    HEAD.lastIndex = start
    const head = HEAD.exec(text)?.[0]
    if (head === undefined) {
      start += FIRST_LINE.length
      continue
    }
    const content = start + head.length
    // No further than once where there is none: a text of beginnings would take quadratic time.
    if (last >= 0 && last < content) last = text.indexOf(LAST_LINE, content)
    const hasEnd = last >= 0 && last - content <= MAX_LENGTH
    const end = hasEnd ? last + LAST_LINE.length : content
    const rest = hasEnd ? LAST_REST : REST
    rest.lastIndex = end
    found.push({ start, end: end + (rest.exec(text)?.[0].length ?? 0) })
    start = end
  }
  return found
}

const FIRST_LINE = '-----BEGIN '
const LAST_LINE = '-----END '
const HEAD = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const LAST_REST = /[A-Z0-9 ]{0,60}-{0,5}/y
/** Also within JSON, where a line ends in a backslash and a letter. */
const REST = /[0-9A-Za-z+/=\s\\]{0,16384}/y
const MAX_LENGTH = 16_384
