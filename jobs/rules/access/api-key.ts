import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Length of the random part of a key. */
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * Text of a new key: `<prefix>sk_`, 32 random base62 characters, and the CRC-32 of all before as six
 * base62 digits. The checksum finds typing errors and helps secret scanners; it protects nothing.
 * @param random at least 64 random bytes
 */
export function makeKey(prefix: string, random: Uint8Array): string {
  // 248 is the greatest multiple of 62 in a byte: what lies above would make some letters likelier.
  const letters = [...random].filter((byte) => byte < 248).map((byte) => ALPHABET[byte % 62])
  if (letters.length < RANDOM_LENGTH) throw new RangeError('Not enough random bytes')
  const body = `${prefix}sk_${letters.slice(0, RANDOM_LENGTH).join('')}`
  return body + checksum(body)
}

/** Whether a text has the length, characters and checksum of a key with this prefix. */
export function isWellFormedKey(prefix: string, key: string): boolean {
  const body = key.slice(0, -CHECKSUM_LENGTH)
  return (
    key.startsWith(`${prefix}sk_`) &&
    key.length === prefix.length + 3 + RANDOM_LENGTH + CHECKSUM_LENGTH &&
    /^[0-9A-Za-z]+$/.test(key.slice(prefix.length + 3)) &&
    checksum(body) === key.slice(-CHECKSUM_LENGTH)
  )
}

/** What is stored of a key. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** What is shown of a key: its prefix and its first four random characters. */
export function displayPrefix(prefix: string, key: string): string {
  return `${key.slice(0, prefix.length + 3 + 4)}…`
}

function checksum(text: string) {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
