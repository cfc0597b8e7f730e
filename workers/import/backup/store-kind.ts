import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { messageOf } from '../../../jobs/rules/core/error-message.ts'
import { isReferenceRefused, isRowRefused } from '../../../sql/core/db.ts'
import { insertRestoredRows } from '../../../sql/import/restored-rows.ts'
import type { RestoreOutcome } from '../../../sql/import/restored-rows.ts'
import { storeByHalves } from '../../../sql/transactions/store-traces.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { beforeRestore } from './around-rows.ts'
import { withoutOwn } from './own-versions.ts'
import type { ChainState } from './own-versions.ts'
import type { Entry } from './parse-lines.ts'
import type { ReadyRows } from './ready-rows.ts'
import type { Restoring } from './restore-state.ts'
import { toRows } from './restored-columns.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'

/**
 * Stores entries of one kind. A row that the database refuses is a fault of its line.
 * @param chain how far the lines about versions before have come
 */
export async function storeKind(
  restoring: Restoring,
  target: RestoreTarget,
  name: KindName,
  entries: readonly Entry[],
  chain: ChainState | undefined,
) {
  const { tx } = restoring
  const { rows, faults } = await toRows(tx, target, name, entries)
  const later = await withoutOwn(restoring, name, rows, chain)
  const before = await beforeRestore(tx, target, name, later.ready)
  const inserted = await insertReady(restoring, target, name, before.ready)
  return {
    faults: [...faults, ...before.faults, ...inserted.faults],
    taken: inserted.taken,
    conflictCount: later.conflictCount + before.conflictCount + inserted.conflictCount,
    chain: later.chain,
  }
}

async function insertReady(
  { tx, run }: Restoring,
  { orgId }: RestoreTarget,
  name: KindName,
  ready: ReadyRows['ready'],
) {
  const faults: LineFault[] = []
  const store = async (from: number, to: number) => {
    run.signal.throwIfAborted()
    const some = ready.slice(from, to)
    const rows = some.map(({ row }) => row)
    const outcomes = await tx.savepoint((inner) =>
      insertRestoredRows(inner, orgId, kindOf(name), rows),
    )
    return outcomes.map((outcome, i) => ({ outcome, ready: some[i] as RestoredEntry }))
  }
  const stored = await storeByHalves<{ outcome: RestoreOutcome; ready: RestoredEntry }>(
    {
      store,
      isOfItem: (error) => isRowRefused(error) || isReferenceRefused(error),
      refuse(index, error) {
        faults.push(refusal((ready[index] as RestoredEntry).entry, error))
        return []
      },
    },
    0,
    ready.length,
  )
  return {
    faults,
    taken: stored.flatMap(({ outcome, ready: each }) => (outcome === 'restored' ? each : [])),
    conflictCount: stored.filter(({ outcome }) => outcome === 'conflict').length,
  }
}

function refusal({ line }: Entry, error: unknown): LineFault {
  const [code, why] = isReferenceRefused(error)
    ? ['unknown_reference', 'The line names a row that is not there']
    : ['refused', 'The database refused the line']
  return { line, code, message: `${why}: ${messageOf(error)}` }
}
