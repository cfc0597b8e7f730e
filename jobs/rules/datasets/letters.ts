/**
 * The letters and digits of which words are made, as numbers: the code in lower case, negative where the
 * letter is a word of its own, and 0 for what is neither. So are those of scripts that put no blanks
 * between words: a word is found there by a dictionary only, and runs would be whole clauses.
 */

/** What the letter table has for half a character; no letter has this code. */
export const SURROGATE = 1

/** For each UTF-16 unit its number, or `SURROGATE`. */
export function letterTable() {
  const letters = new Int32Array(1 << 16)
  for (let unit = 0; unit < letters.length; unit++) {
    const isHalf = unit >= 0xd800 && unit < 0xe000
    letters[unit] = isHalf ? SURROGATE : letterOf(String.fromCharCode(unit))
  }
  return letters
}

/** The number of the character that begins at a place with half a one. */
export function wideLetter(text: string, at: number) {
  return letterOf(String.fromCodePoint(text.codePointAt(at) as number))
}

function letterOf(char: string) {
  if (!LETTER.test(char)) return 0
  const code = char.toLowerCase().codePointAt(0) as number
  return WITHOUT_BLANKS.test(char) ? -code : code
}

const LETTER = /[\p{L}\p{N}]/u
const WITHOUT_BLANKS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u
