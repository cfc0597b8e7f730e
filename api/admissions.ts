import { batchCalls } from '../jobs/batch-calls.ts'
import { admitKeys } from '../sql/access/api-keys.ts'
import type { CredentialHash } from '../sql/access/api-keys.ts'
import type { ApiPools } from './context.ts'

/** Most credentials in one round trip. */
const TOGETHER = 64

/**
 * Admits a credential. Those that arrive during a round trip share the next one. The database is asked
 * after each request has arrived, so a revocation holds as if each were asked for alone. The connections are
 * for this alone: whatever operations do, the next request is admitted.
 */
export const admitKey = batchCalls(
  ({ auth }: ApiPools, credentials: CredentialHash[]) => admitKeys(auth, credentials),
  TOGETHER,
)
