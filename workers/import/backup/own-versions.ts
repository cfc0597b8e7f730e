import { hash } from 'node:crypto'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { CHAINS, listPresentVersions, lockChains } from '../../../sql/import/restored-chains.ts'
import type { Chain } from '../../../sql/import/restored-chains.ts'
import type { ReadyRows } from './ready-rows.ts'
import type { Restoring, RestoreCursor } from './restore-state.ts'
import type { RestoredEntry } from './restored-columns.ts'

/** How far the lines about the versions of something have come. */
export type ChainState = NonNullable<RestoreCursor['chain']>

/**
 * The versions that come after those that are there as the file has them. What has versions of its own keeps the
 * newest, which is the one that holds: no later one of the backup is put on top. Skills have to be locked.
 * @param before how far the lines before have come, which may be about the same thing
 */
export async function withoutOwn(
  { tx, key: { orgId } }: Pick<Restoring, 'tx' | 'key'>,
  name: KindName,
  rows: readonly RestoredEntry[],
  before: ChainState | undefined,
): Promise<ReadyRows & { readonly chain: ChainState | undefined }> {
  const chain = CHAINS[name]
  if (!chain || rows.length === 0) {
    return { ready: rows, faults: [], conflictCount: 0, chain: before }
  }
  const given = rows.map(({ row }) => row)
  await lockChains(tx, orgId, chain, given)
  const present = await listPresentVersions(tx, orgId, kindOf(name), chain, given)
  const states = new Map(before && [[before.key, before]])
  const newest = new Map<string, number>()
  const ready: RestoredEntry[] = []
  let last = before
  for (const [i, each] of rows.entries()) {
    const key = keyOf(name, chain, each.row)
    const number = each.row[chain.number] as number
    const { newest: stored = 0, is_same = null } = present[i] ?? {}
    const highest = newest.get(key) ?? stored
    const state = states.get(key) ?? { key, number: 0, is_own: false }
    const isOwn = state.is_own || is_same === false
    // The newest one is none that the file told of before.
    const isOnTop = is_same === null && number > highest && highest > state.number
    const isNew = is_same === null && !isOwn && !isOnTop
    last = { key, number: isNew || is_same === true ? number : state.number, is_own: isOwn }
    states.set(key, last)
    if (isNew) newest.set(key, Math.max(highest, number))
    if (isNew || is_same !== null) ready.push(each)
  }
  return { ready, faults: [], conflictCount: rows.length - ready.length, chain: last }
}

/** Short, since it is part of the checkpoint. */
function keyOf(name: KindName, { of }: Chain, row: RestoredEntry['row']) {
  return hash('sha256', JSON.stringify([name, ...of.map((column) => row[column])]))
}
