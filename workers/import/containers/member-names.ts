/** The names of an object's members, as far as a text that may be cut off has them. */
export function namesOf(text: string, from: number): string[] {
  const names: string[] = []
  let depth = 0
  TOKEN.lastIndex = from
  for (let token; (token = TOKEN.exec(text));) {
    const [whole, name, colon] = token
    if (name !== undefined) {
      if (depth === 1 && colon !== undefined) names.push(name)
    } else if (whole === '{' || whole === '[') depth++
    else if (--depth <= 0) break
  }
  return names
}

/**
 * A bracket, or a string, which may be cut off; `2` is there where the string is the name of a member. From
 * each quotation mark on it matches, so that none is looked at twice.
 */
const TOKEN = /[{}[\]]|"([^"\\]*(?:\\[^][^"\\]*)*)(?:"(\s*:)?|\\?$)/g
