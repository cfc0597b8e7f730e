import { ineligibility } from '../../jobs/rules/datasets/candidates.ts'
import { splitOf } from '../../jobs/rules/datasets/split.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { readRowHashes } from '../../sql/datasets/rows.ts'
import { selectTraces } from '../../sql/datasets/selection.ts'
import { countFiltered } from '../../sql/datasets/trace-filters.ts'
import type { VersionRow } from '../../sql/datasets/versions.ts'
import type { Run } from '../runtime/handler.ts'
import type { RowList } from './row-list.ts'
import type { Drop } from './settle-rows.ts'

/**
 * Fixes which traces a version is made of, in one read of one state of the database. Contents are left
 * out, so that the transaction is short.
 * @returns how many traces the project has, pass the filters, and were listed
 */
export async function selectIntoList(
  version: Pick<VersionRow, 'recipe' | 'project_id' | 'parent_version_id'>,
  run: Pick<Run, 'orgId' | 'sql' | 'signal' | 'progress'>,
  list: RowList,
  drop: Drop,
) {
  const { recipe, project_id: projectId, parent_version_id: parentId } = version
  const selection = { orgId: run.orgId, projectId, recipe }
  let [traces, passed, listed] = [0, 0, 0]
  await run.sql.begin('isolation level repeatable read read only', async (tx: Transaction) => {
    await tx`set local statement_timeout = ${tx.unsafe(String(STATEMENT_TIMEOUT_MS))}`
    const { filtered, all, passing } = await countFiltered(tx, selection)
    traces = all
    passed = passing
    const share = all === 0 ? 0 : passing / all
    for (const [reason, n] of filtered) drop(reason, n)
    if (parentId) {
      for await (const rows of readRowHashes(tx, run.orgId, parentId, BATCH)) {
        for (const { trace_id, row_hash } of rows) list.addParentRow(trace_id, row_hash)
      }
    }
    for await (const batch of selectTraces(tx, selection, { batch: BATCH, share })) {
      run.signal.throwIfAborted()
      for (const trace of batch) {
        const reason = ineligibility(trace, recipe)
        if (reason === undefined) list.addTrace(trace, splitOf(trace, recipe))
        if (reason === undefined) listed++
        else drop(reason)
      }
      run.progress({ done: listed, unit: 'traces', note: 'selecting' })
    }
  })
  list.flush()
  return { traces, passed, listed }
}

/** So few that a connection takes them in while those before them are worked on. */
const BATCH = 1000
/** The first of millions come only when all are joined. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000
