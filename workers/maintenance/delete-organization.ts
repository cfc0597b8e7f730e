import { deleteOrganization } from '../../jobs/delete-organization.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { isAnyActive, lockRowsOf } from '../../sql/jobs/pg-boss.ts'
import {
  cutReferences,
  deleteOrganizationRow,
  deleteOwned,
  isKept,
  listOwnedTables,
  listUncanceledJobs,
} from '../../sql/org/deleted-organizations.ts'
import type { OwnedTable } from '../../sql/org/deleted-organizations.ts'
import { deleteInstalls } from '../../sql/skills/public-skills.ts'
import { cancelJob } from '../../sql/transactions/cancel-job.ts'
import { CONTINUE, continueAfter, handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'

/**
 * Ends what works for the organization, deletes its rows table by table until a pass finds none, then the
 * organization. A run that was cut off is repeated from the beginning: what is deleted is not there.
 *
 * Requests that were admitted before the keys were revoked may store something meanwhile, which a later pass
 * finds. Once the row of the organization is gone they fail, by their foreign keys; the last passes are for
 * tables without one.
 */
export function makeOrganizationHandler({ sliceMs, rowsTogether }: SliceOptions) {
  return handler(deleteOrganization, async ({ org_id: orgId }, run) => {
    if (await isKept(run.sql, orgId)) return undefined
    const until = run.now().getTime() + sliceMs
    const isLate = () => run.now().getTime() >= until
    const isUnfinished = await empty(run, orgId, { rowsTogether, isLate })
    if (isUnfinished) return isUnfinished
    await deleteOrganizationRow(run.sql, orgId)
    run.log.info({ org_id: orgId }, 'organization deleted')
    return empty(run, orgId, { rowsTogether, isLate })
  })
}

export const deleteOrganizationHandler = makeOrganizationHandler({
  sliceMs: 30_000,
  rowsTogether: 2000,
})

/** @returns how the run has to go on; undefined when nothing is left and nothing works for the organization */
async function empty(run: Run, orgId: string, portion: Portion) {
  const tables = await listOwnedTables(run.sql)
  for (;;) {
    await cancelJobs(run, orgId)
    await deleteQueueRows(run, orgId)
    if (await isAnyActive(run.sql, orgId)) return continueAfter(STOP_SECONDS)
    await run.sql.begin((tx: Transaction) => deleteInstalls(tx, orgId))
    if ((await emptyTables(run, orgId, tables, portion)) === 0) return undefined
    if (portion.isLate()) return CONTINUE
  }
}

/** Those that run stop at their next safe place. */
async function cancelJobs({ sql, queue, signal }: Run, orgId: string) {
  for (let ids; (ids = await listUncanceledJobs(sql, orgId, JOBS_TOGETHER)).length > 0;) {
    for (const id of ids) {
      signal.throwIfAborted()
      await sql.begin((tx: Transaction) => cancelJob(tx, queue, orgId, id))
    }
  }
}

async function deleteQueueRows({ sql, queue, signal }: Run, orgId: string) {
  for (let count = 1; count > 0;) {
    signal.throwIfAborted()
    count = await sql.begin(async (tx: Transaction) => {
      const rows = await lockRowsOf(tx, orgId, JOBS_TOGETHER)
      for (const [name, group] of Map.groupBy(rows, (row) => row.name)) {
        const ids = group.map(({ id }) => id)
        await queue.remove(tx, name, ids)
      }
      return rows.length
    })
  }
}

/** @returns how many rows were deleted; more may be left when it is late */
async function emptyTables(
  { sql, storage, signal }: Run,
  orgId: string,
  tables: readonly OwnedTable[],
  { rowsTogether, isLate }: Portion,
) {
  let total = 0
  for (const table of tables) {
    for (let cut = 1; cut > 0 && table.own_reference;) {
      signal.throwIfAborted()
      cut = await cutReferences(sql, table.name, table.own_reference, orgId, rowsTogether)
    }
    for (let deleted = 1; deleted > 0; total += deleted) {
      signal.throwIfAborted()
      if (total > 0 && isLate()) return total
      const { count, files } = await deleteOwned(sql, table, orgId, rowsTogether)
      // In this order: a file without a row is swept, a row without its file is a fault.
      for (const key of files) await storage.delete(key)
      deleted = count
    }
  }
  return total
}

/** Until it is looked again whether all has stopped. */
const STOP_SECONDS = 2
const JOBS_TOGETHER = 1000

interface SliceOptions {
  /** After which others have their turn. */
  readonly sliceMs: number
  /** Rows of a table in one transaction. */
  readonly rowsTogether: number
}

interface Portion {
  readonly rowsTogether: number
  readonly isLate: () => boolean
}
