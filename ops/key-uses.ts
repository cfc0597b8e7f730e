import cron from 'node-cron'
import { saveKeyUses } from '../sql/access/api-keys.ts'
import type { Sql } from '../sql/core/db.ts'

/**
 * Copies every minute when keys were last used from the token buckets, which a crash of the database
 * empties. Any number of processes may do so. Returns what ends it, after a last copy.
 */
export function keepKeyUses(sql: Sql, log: Log): () => Promise<void> {
  async function save() {
    try {
      await saveKeyUses(sql)
    } catch (err) {
      log.warn({ err }, 'last_used_at of keys could not be saved; trying again in a minute')
    }
  }
  const tick = cron.schedule(EVERY_MINUTE, save, { noOverlap: true })
  return async () => {
    await tick.destroy()
    await save()
  }
}

const EVERY_MINUTE = '* * * * *'

interface Log {
  warn(fields: object, message: string): void
}
