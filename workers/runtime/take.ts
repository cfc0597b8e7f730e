import type { PgBoss } from 'pg-boss'
import { bossDatabase } from '../../jobs/pg-boss.ts'
import type { Envelope } from '../../jobs/queue.ts'
import type { Queryable, Sql, Transaction } from '../../sql/core/db.ts'
import { countActive, findTurns, isAnotherWaiting } from '../../sql/jobs/pg-boss.ts'
import { lockLimits } from '../../sql/jobs/queue-control.ts'
import type { OrgLimit } from '../../sql/jobs/queue-control.ts'
import type { QueuedJob } from './attempt.ts'
import type { Slots } from './slots.ts'

/** What was taken out of a queue. */
export interface Taken {
  /** First turn first. */
  readonly jobs: readonly QueuedJob[]
  /** There are probably more for the slots still free. */
  readonly more: boolean
  /** Organizations were passed over whose jobs may run when another one has ended. */
  readonly withheld: boolean
}

/**
 * Claims jobs for free slots, in the order of their turns. Where there are several slots, an
 * organization gets the last one only while no other waits, so that others need not wait for the end
 * of its jobs.
 * @param limits of the queue; an organization never has more jobs active than its own
 */
export async function takeJobs(
  boss: PgBoss,
  sql: Sql,
  queue: string,
  slots: FreeSlots,
  limits: readonly OrgLimit[] = [],
): Promise<Taken> {
  if (limits.length > 0) {
    const take = (tx: Transaction) => takeWithin(boss, tx, queue, slots, limits)
    return sql.begin(take) as Promise<Taken>
  }
  const { size, full } = findShare(slots)
  const passedOver = full !== undefined && (await isAnotherWaiting(sql, queue, full))
  const batchSize = full !== undefined && !passedOver ? slots.free() : size
  const ignoreGroups = passedOver ? [full] : null
  const jobs = await fetchJobs(boss, sql, queue, { batchSize, ignoreGroups })
  return { jobs, more: passedOver || jobs.length === batchSize, withheld: false }
}

/**
 * The same where operators have set limits. The processes take from the queue one after another, so
 * that each counts what the others have taken, and look only at the turns of those that may run, so that
 * what a limit holds back costs nothing, however much it is.
 */
async function takeWithin(
  boss: PgBoss,
  tx: Transaction,
  queue: string,
  slots: FreeSlots,
  limits: readonly OrgLimit[],
): Promise<Taken> {
  await lockLimits(tx, queue)
  const active = await countActive(
    tx,
    queue,
    limits.map(({ org_id }) => org_id),
  )
  const rooms = limits.map(({ org_id, paused, max_running }) => ({
    org_id,
    room: paused ? 0 : (max_running ?? Infinity) - (active.get(org_id) ?? 0),
  }))
  const shut = rooms.filter(({ room }) => room <= 0).map(({ org_id }) => org_id)
  // No organization can be given more than this, whoever's turn it is.
  const room = Math.min(...rooms.map((each) => each.room).filter((each) => each > 0))
  const { size, full } = findShare(slots)
  const others = full === undefined ? shut : [...shut, full]
  const othersTurns = await findTurns(tx, queue, others, size)
  const ignoreGroups = othersTurns ? others : shut
  const batchSize = Math.min(room, othersTurns ? size : slots.free())
  const turns = othersTurns ?? (full && (await findTurns(tx, queue, shut, batchSize)))
  if (!turns) return { jobs: [], more: false, withheld: shut.length > 0 }
  const jobs = await fetchJobs(boss, tx, queue, {
    batchSize,
    ignoreGroups,
    maxPriority: turns.first,
    minPriority: turns.last,
  })
  return { jobs, more: jobs.length === batchSize, withheld: ignoreGroups.length > 0 }
}

async function fetchJobs(boss: PgBoss, sql: Queryable, queue: string, options: FetchOptions) {
  const jobs: QueuedJob[] = await boss.fetch<Envelope>(queue, {
    ...options,
    includeMetadata: true,
    db: bossDatabase(sql),
  })
  // The rows of an UPDATE come back in no order.
  return jobs.sort(byTurn)
}

function byTurn(a: QueuedJob, b: QueuedJob) {
  return b.priority - a.priority || a.createdOn.getTime() - b.createdOn.getTime()
}

/**
 * How many jobs to take at once, and the organization, if any, that holds as many slots as it may while
 * another one waits.
 */
function findShare(slots: FreeSlots) {
  const limit = Math.max(1, slots.total - 1)
  const [orgId, most] = [...slots.held()].reduce<[string | undefined, number]>(
    (largest, entry) => (entry[1] > largest[1] ? entry : largest),
    [undefined, 0],
  )
  const free = slots.free()
  return most >= limit ? { size: free, full: orgId } : { size: Math.min(free, limit - most) }
}

type FreeSlots = Pick<Slots, 'total' | 'free' | 'held'>

interface FetchOptions {
  readonly batchSize: number
  readonly ignoreGroups: string[] | null
  readonly minPriority?: number
  readonly maxPriority?: number
}
