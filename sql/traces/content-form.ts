import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { Queryable } from '../core/db.ts'
import { isDivided } from './divided.ts'

/**
 * The newest form of contents that all releases read which the database serves: those that read only the
 * whole one are served until `traces` is divided.
 */
export async function findContentForm(sql: Queryable): Promise<ContentForm> {
  return (await isDivided(sql)) ? 'shared' : 'whole'
}
