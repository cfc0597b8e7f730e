import { gather } from '../jobs/gather.ts'
import { admitKeys } from '../sql/api-keys.ts'
import type { CredentialHash } from '../sql/api-keys.ts'
import type { ApiContext } from './context.ts'

/** Credentials that are admitted in one round trip. */
const TOGETHER = 64

/**
 * Admits a credential in one round trip with those that came while the last one was under way. What the
 * database is asked it is asked after the request came, so a revocation holds as if each asked alone.
 */
export const admitKey = gather(
  ({ sql }: ApiContext, credentials: CredentialHash[]) => admitKeys(sql, credentials),
  TOGETHER,
)
