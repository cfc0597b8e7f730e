import { randomBytes } from 'node:crypto'
import { isLoopbackHost } from '../api/loopback.ts'
import { hashKey } from '../jobs/rules/access/api-key.ts'
import {
  hashSignInCode,
  makeSignInCode,
  SIGN_IN_MINUTES,
} from '../jobs/rules/access/sign-in-code.ts'
import { findKeyByHash } from '../sql/access/api-keys.ts'
import { putSignInLink } from '../sql/access/sign-in-links.ts'
import type { Queryable } from '../sql/core/db.ts'

/**
 * Makes a link that signs one browser on this machine in with a key. Earlier links of the key end.
 * @param address where this machine reaches the API
 * @param key raw
 * @returns the address to open; undefined for an unknown key, and where the API has no loopback address
 */
export async function makeSignInLink(
  sql: Queryable,
  address: string,
  key: string,
): Promise<string | undefined> {
  if (!isLoopbackHost(new URL(address).host)) return undefined
  const found = await findKeyByHash(sql, hashKey(key))
  const code = makeSignInCode(randomBytes(32))
  const hash = hashSignInCode(code)
  if (!found || !hash) return undefined
  const seconds = SIGN_IN_MINUTES * 60
  await putSignInLink(sql, { org_id: found.org_id, key_id: found.id, code_hash: hash, seconds })
  return `${address}/console/sign-in/${code}`
}
