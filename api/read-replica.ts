import type { Request } from '@hapi/hapi'
import { ownedBy } from '../sql/core/db.ts'
import { fallBack } from '../sql/core/fall-back.ts'
import { parsePosition, writePosition } from '../sql/core/wal-position.ts'
import type { ApiContext, ApiPools, ReadPools, Replica } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { headerOf } from './header.ts'
import { describedOf } from './joi-description.ts'

/**
 * How far a client has read and written, as a position in the log of the primary. An answer has the header
 * when its request had it. A client that sends it back sees everything it saw before, whichever server
 * answers.
 */
export const READ_POSITION = 'Read-Position'

/** Where a request is answered from. */
export interface Source {
  readonly pools: ApiPools
  /** The headers that tell a client how far it has seen, once it has been answered. */
  findHeaders(): Promise<Record<string, string>>
}

/**
 * The pools for a request. A request that a replica may answer goes there once the replica shows everything
 * that was committed before the request came, or before the position it names. A malformed position is
 * ignored. A position that the primary has not reached means everything committed so far.
 * @param orgId on whose behalf
 */
export async function chooseSource(
  operation: Endpoint,
  { pools, replica }: Pick<ApiContext, 'pools' | 'replica'>,
  request: Request,
  orgId: string,
): Promise<Source> {
  if (!replica || operation.access === 'open') return { pools, findHeaders: async () => ({}) }
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
 * Whether the replica may answer an operation: lists, and operations that read many rows. A standby has no
 * unlogged tables and does not know the transaction ids of the primary, which operations of administrators
 * need. An operation that answers 202 writes a job.
 */
export function isReplicated(operation: Endpoint): boolean {
  const { method, access, answers, aggregates, replicated } = operation
  if (method !== 'GET' || access !== 'key' || '202' in answers) return false
  return aggregates === true || replicated === true || isList(operation)
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
