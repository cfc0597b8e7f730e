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

/** @throws Error when the key is another one or the bytes were changed */
export function openSecret(key: Uint8Array, box: Uint8Array): string {
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, 12))
  decipher.setAuthTag(box.subarray(12, 28))
  return Buffer.concat([decipher.update(box.subarray(28)), decipher.final()]).toString('utf8')
}
