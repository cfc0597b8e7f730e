import { messageOf } from '../../jobs/rules/core/error-message.ts'
import { checkSchema, SchemaTooNew } from '../../sql/core/migrate.ts'
import type { ApiContext } from '../context.ts'

/** Why an API process cannot serve. */
export interface Unready {
  /** For everybody. */
  readonly status: string
  /** For the operator; may name folders and addresses. */
  readonly reason: string
}

/** Undefined while the process can serve. Asks over the connections that are kept for credentials. */
export async function findUnready({
  isStopping,
  pools,
  storage,
}: Pick<ApiContext, 'isStopping' | 'pools' | 'storage'>): Promise<Unready | undefined> {
  if (isStopping()) return { status: 'stopping', reason: 'stopping' }
  try {
    if ((await checkSchema(pools.auth)) === 'behind')
      return { status: 'schema is behind', reason: 'the schema is behind: run migrate' }
    const fault = await storage.findFault()
    return fault && { status: 'storage is away', reason: fault.message }
  } catch (error) {
    const status = error instanceof SchemaTooNew ? 'schema is too new' : 'database is away'
    return { status, reason: messageOf(error) }
  }
}
