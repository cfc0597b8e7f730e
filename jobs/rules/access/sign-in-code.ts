import { createHash } from 'node:crypto'

/** How long the code of a sign-in link can be used. */
export const SIGN_IN_MINUTES = 10

/** Text of a new code. @param random 32 random bytes */
export function makeSignInCode(random: Uint8Array): string {
  return Buffer.from(random).toString('base64url')
}

/** What is stored of a code; undefined for a text that cannot be one. */
export function hashSignInCode(code: string): Buffer | undefined {
  if (!/^[\w-]{43}$/.test(code)) return undefined
  return createHash('sha256').update(code).digest()
}
