import type { Area } from '../endpoint.ts'
import { createKey } from './create-key.ts'
import { endSession } from './end-session.ts'
import { listKeys } from './list-keys.ts'
import { openSession } from './open-session.ts'
import { revokeKey } from './revoke-key.ts'
import { showMe } from './show-me.ts'
import { verifyKey } from './verify-key.ts'

export const access: Area = {
  'api-keys': [createKey, listKeys, revokeKey],
  auth: [openSession, endSession, showMe, verifyKey],
}
