import { gather } from '../jobs/gather.ts'
import { admitKeys } from '../sql/api-keys.ts'
import type { Admission, CredentialHash } from '../sql/api-keys.ts'
import type { ApiContext } from './context.ts'

/**
 * Admits a credential in one round trip with those that came while the last one was under way. What the
 * database is asked it is asked after the request came, so a revocation holds as if each asked alone.
 */
export function admitKey(context: ApiContext, credential: CredentialHash) {
  let admit = admitting.get(context)
  if (!admit) {
    admit = gather((credentials) => admitKeys(context.sql, credentials), TOGETHER)
    admitting.set(context, admit)
  }
  return admit(credential)
}

type Admit = (credential: CredentialHash) => Promise<Admission | undefined>
const admitting = new WeakMap<ApiContext, Admit>()
const TOGETHER = 64
