/** @throws TypeError for what is no key */
export function requireKey(key: string) {
  if (!isKey(key)) throw new TypeError(`Not a storage key: ${key}`)
}

/** Slash-separated words of letters, digits, dots and hyphens; no word begins with a dot. */
export function isKey(text: string) {
  return KEY.test(text)
}

/** Whether the file of a key belongs to a write into a folder, or to a look at one. */
export function isPartKey(key: string) {
  return PART.test(key)
}

const KEY = /^[a-z0-9][\w.-]*(\/[a-z0-9][\w.-]*)*$/i
const PART = /\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.part$/
