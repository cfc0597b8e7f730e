import type { Area } from '../endpoint.ts'
import { createKey } from './create-key.ts'
import { endSession } from './end-session.ts'
import { endSessionOfKey } from './end-session-of-key.ts'
import { listKeys } from './list-keys.ts'
import { listSessions } from './list-sessions.ts'
import { openSession } from './open-session.ts'
import { revokeKey } from './revoke-key.ts'
import { showMe } from './show-me.ts'
import { verifyKey } from './verify-key.ts'

export const access: Area = {
  'api-keys': [createKey, listKeys, revokeKey, listSessions, endSessionOfKey],
  auth: [openSession, endSession, showMe, verifyKey],
}
