/** @throws TypeError for what is no key */
export function requireKey(key: string) {
  if (!isKey(key)) throw new TypeError(`Not a storage key: ${key}`)
}

/** Slash-separated words of letters, digits, dots and hyphens; no word begins with a dot. */
export function isKey(text: string) {
  return KEY.test(text)
}

/** The key that a write into a folder, or a look at one, makes this file for; undefined for other files. */
export function readPartName(name: string) {
  return PART.exec(name)?.[1]
}

const KEY = /^[a-z0-9][\w.-]*(\/[a-z0-9][\w.-]*)*$/i
const PART = /^(.+)\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.part$/
