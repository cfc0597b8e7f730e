import { createCipheriv, createDecipheriv } from 'node:crypto'

/**
 * Encrypts a secret for storage: AES-256-GCM as nonce (12 bytes), tag (16 bytes), ciphertext.
 * @param key 32 bytes; @param nonce 12 random bytes, never used before with this key
 */
export function sealSecret(key: Uint8Array, nonce: Uint8Array, secret: string): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/**
 * Opens a secret with the first key that fits.
 * @throws Error when none fits or the bytes were changed
 */
export function openSecret(keys: readonly Uint8Array[], box: Uint8Array): string {
  for (const [i, key] of keys.entries()) {
    try {
      return openWith(key, box)
    } catch (error) {
      if (i === keys.length - 1) throw error
    }
  }
  throw new Error('There is no key to open a secret with')
}

function openWith(key: Uint8Array, box: Uint8Array): string {
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, 12))
  decipher.setAuthTag(box.subarray(12, 28))
  return Buffer.concat([decipher.update(box.subarray(28)), decipher.final()]).toString('utf8')
}
