import { announceSafety } from '../../jobs/announce-safety.ts'
import { tellInstallers } from '../../sql/transactions/settle-safety.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const announceSafetyHandler = transactionalHandler(
  announceSafety,
  async ({ after, ...change }, { queue, orgId }, tx) => {
    await tellInstallers(tx, queue, orgId, change, after)
  },
)
