/** What becomes of the parts of a JSON text. */
export interface JsonRewriting {
  /** Whether all strings in the value of a member are marked, however deep. */
  marks(member: string): boolean
  string(value: string, isMarked: boolean): string
  /**
   * @param number as it is written; another text is written as a string in its place
   * @param member the name of the member it is the value of, or an item of the value; '' for no member
   */
  number(number: string, member: string): string
  /** The name of a member. */
  name(name: string): string
}

/**
 * Rewrites strings, numbers and names in a text of JSON. All else stays to the letter: blanks, the order of
 * members, the spelling of what does not change.
 * @param json a valid text of JSON
 */
export function rewriteJson(json: string, rewriting: JsonRewriting): string {
  let written = ''
  let member = NO_MEMBER
  const around: Member[] = []
  for (let at = 0; at < json.length;) {
    const quote = json.indexOf('"', at)
    const start = quote < 0 ? json.length : quote
    written += json.slice(at, start).replace(BETWEEN_STRINGS, (token) => {
      if (token === '{' || token === '[') {
        around.push(member)
        if (token === '{') member = { ...member, name: '' }
        return token
      }
      if (token === '}' || token === ']') {
        member = around.pop() ?? NO_MEMBER
        return token
      }
      const number = rewriting.number(token, member.name)
      return number === token ? token : JSON.stringify(number)
    })
    if (quote < 0) break
    at = endOfString(json, start)
    const literal = json.slice(start, at)
    const value = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1)
    COLON.lastIndex = at
    const isName = COLON.test(json)
    const text = isName ? rewriting.name(value) : rewriting.string(value, member.isMarked)
    written += text === value ? literal : JSON.stringify(text)
    if (isName) {
      const isMarked = (around.at(-1)?.isMarked ?? false) || rewriting.marks(value)
      member = { name: value, isMarked }
    }
  }
  return written
}

/** Behind the quote that ends a string: no odd number of backslashes stands before it. */
function endOfString(json: string, start: number) {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let first = quote
    while (json[first - 1] === '\\') first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
}

const NO_MEMBER = { name: '', isMarked: false }
const BETWEEN_STRINGS = /[{}[\]]|-?\d[\d.eE+-]*/g
const COLON = /\s*:/y

/** The member whose value something is in; within an object its name comes with the next one. */
interface Member {
  readonly name: string
  readonly isMarked: boolean
}
