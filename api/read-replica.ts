import type { Request } from '@hapi/hapi'
import { ownedBy } from '../sql/core/db.ts'
import { fallBack } from '../sql/core/fall-back.ts'
import { parsePosition, writePosition } from '../sql/core/wal-position.ts'
import type { ApiContext, ApiPools, ReadPools, Replica } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { headerOf } from './header.ts'
import { describedOf } from './joi-description.ts'

/**
 * Up to where a client has seen, or written, what there is. An answer has it where the request has: a client
 * that sends it back with each request sees all that it has seen before, whoever answers.
 */
export const READ_POSITION = 'Read-Position'

/** Where a request is answered from. */
export interface Source {
  readonly pools: ApiPools
  /** The headers that tell a client how far it has seen, once it has been answered. */
  findHeaders(): Promise<Record<string, string>>
}

/**
 * The pools for a request. What may be read from the replica is, once the replica shows all that was
 * committed before the request came, or before the position that it names. Which client committed it, over
 * which process, makes no difference. A malformed position is none, and one that the primary has not
 * reached yet stands for all that there is.
 * @param orgId on whose behalf
 */
export async function chooseSource(
  operation: Endpoint,
  { pools, replica }: Pick<ApiContext, 'pools' | 'replica'>,
  request: Request,
  orgId: string,
): Promise<Source> {
  if (!replica) return { pools, findHeaders: async () => ({}) }
  const { standby, reads } = replica
  const header = headerOf(request, READ_POSITION.toLowerCase()) || undefined
  const primary = {
    pools,
    findHeaders: () => headersOf(header === undefined ? header : findWritten(replica)),
  }
  if (!isReplicated(operation)) return primary
  const link = await standby.reach(header === undefined ? header : parsePosition(header))
  reads[link ? 'replica' : 'primary']++
  if (!link) return primary
  let isFallen = false
  function onFall() {
    isFallen = true
    reads.fallen++
  }
  const { signal } = link
  const either = fallBack(owned(link.pools, orgId), owned(pools, orgId), { signal, onFall })
  return {
    pools: { ...pools, ...either },
    async findHeaders() {
      return isFallen
        ? primary.findHeaders()
        : headersOf(header === undefined ? header : standby.findReplayed())
    },
  }
}

/**
 * Whether the replica may answer an operation: lists, and what goes over many rows. It has no tables that are
 * not logged and knows none of the primary's transactions, which operations of administrators need; and an
 * operation that answers 202 writes a job and reads what becomes of it.
 */
export function isReplicated(operation: Endpoint): boolean {
  const { method, access, answers, aggregates = false } = operation
  if (method !== 'GET' || access !== 'key' || '202' in answers) return false
  return aggregates || isList(operation)
}

function isList(operation: Endpoint) {
  const { query } = operation
  const isKnown = lists.get(operation)
  if (isKnown !== undefined || !query) return isKnown ?? false
  const isNew = 'limit' in (describedOf(query).keys ?? {})
  lists.set(operation, isNew)
  return isNew
}

const lists = new WeakMap<Endpoint, boolean>()

function owned({ read, aggregate, compare }: ReadPools, orgId: string): ReadPools {
  return {
    read: ownedBy(read, orgId),
    aggregate: ownedBy(aggregate, orgId),
    compare: ownedBy(compare, orgId),
  }
}

/** Without an answer of the server there is no header: the client goes on with the position that it has. */
async function headersOf(finding: Promise<number | undefined> | undefined) {
  const bytes = finding ? await finding : undefined
  return bytes === undefined ? {} : { [READ_POSITION]: writePosition(bytes) }
}

async function findWritten({ askPrimary }: Replica) {
  return askPrimary().then(
    ({ bytes }) => bytes,
    () => undefined,
  )
}
