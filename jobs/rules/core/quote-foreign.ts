import { findSensitive } from './sensitive.ts'

/**
 * What another service said of a refusal, fit for errors that people read: at most `most` characters,
 * without the secrets that the service was sent, which it may repeat, and without what else looks secret
 * or personal.
 * @param word what the secrets are called, such as `token`
 */
export function quoteForeign(
  said: string,
  { secrets, word, most }: { secrets: readonly string[]; word: string; most: number },
): string {
  const own = secrets
    .flatMap(formsOf)
    .reduce((text, form) => text.replaceAll(anyCase(form), `[${word}]`), unescaped(cut(said)))
  const plain = hideSensitive(own).replace(LONG_WORD, HIDDEN)
  // PostgreSQL holds no NUL and no lone surrogate.
  return plain.replaceAll('\0', '').slice(0, most).toWellFormed()
}

/** Longer ones before those that they begin with. */
function formsOf(secret: string) {
  const inJson = JSON.stringify(secret).slice(1, -1)
  const base64 = btoa(secret)
  const unpadded = base64.replace(/=+$/, '')
  const forUrls = unpadded.replaceAll('+', '-').replaceAll('/', '_')
  return [secret, inJson, encodeURIComponent(secret), base64, unpadded, forUrls].map(unescaped)
}

/**
 * Without the escapes that JSON may have for any character, `\/` and `\u00xx`, also where a text of JSON is
 * in another one.
 */
function unescaped(text: string) {
  return text
    .replaceAll(/\\+u00([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replaceAll(/\\+\//g, '/')
}

/** Without its last word where it is cut, which may be the beginning of a secret. */
function cut(said: string) {
  return said.length <= MAX_READ ? said : said.slice(0, MAX_READ).replace(/\S+$/, '')
}

function hideSensitive(text: string) {
  let [hidden, at] = ['', 0]
  for (const { start, end } of findSensitive(text)) {
    hidden += text.slice(at, start) + HIDDEN
    at = end
  }
  return hidden + text.slice(at)
}

function anyCase(text: string) {
  return new RegExp(RegExp.escape(text), 'gi')
}

const HIDDEN = '[...]'
/** In the characters of base64 and hexadecimal: the forms of a secret are not all known. */
const LONG_WORD = /[\w+/=-]{32,}/g
/** Characters. */
const MAX_READ = 4000
