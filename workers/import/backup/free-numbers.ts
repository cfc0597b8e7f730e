import type { Transaction } from '../../../sql/core/db.ts'
import { listPresent } from '../../../sql/import/restored-manifests.ts'
import type { GivenManifest } from '../../../sql/import/restored-manifests.ts'
import { holdAgents } from '../../../sql/manifests/manifests.ts'
import type { RestoredEntry } from './restored-columns.ts'

/**
 * Gives a manifest whose version number its agent has given to another one the next that is free, in the order of the
 * file: what refers to it does so by its hash. Nobody registers a version of these agents until the transaction
 * ends.
 */
export async function withFreeNumbers(
  tx: Transaction,
  orgId: string,
  entries: readonly RestoredEntry[],
): Promise<readonly RestoredEntry[]> {
  const given = entries.map(({ row }) => row as unknown as GivenManifest)
  await holdAgents(
    tx,
    given.map(({ project_id, agent_name }) => ({ projectId: project_id, agentName: agent_name })),
  )
  const present = await listPresent(tx, orgId, given)
  const agents = new Map(
    [...Map.groupBy(given.keys(), (i) => agentText(given[i] as GivenManifest))].map(
      ([text, places]) => [
        text,
        openNumbers(
          present[places[0] as number]?.newest ?? 0,
          places.map((i) => given[i]?.version_number ?? 0),
        ),
      ],
    ),
  )
  return entries.map((entry, i) => {
    const manifest = given[i] as GivenManifest
    const { isThere = true, isTaken = false } = present[i] ?? {}
    const number = isThere
      ? manifest.version_number
      : agents.get(agentText(manifest))?.numberOf(manifest, isTaken)
    return { ...entry, row: { ...entry.row, version_number: number } }
  })
}

/** The numbers of an agent. @param given those of the manifests that are to come */
function openNumbers(newest: number, given: readonly number[]) {
  const kept = new Set(given)
  const numbers = new Map<string, number>()
  const used = new Set<number>()
  let next = newest + 1
  function free() {
    while (kept.has(next) || used.has(next)) next++
    return next
  }
  return {
    numberOf({ manifest_hash: hash, version_number: wanted }: GivenManifest, isTaken: boolean) {
      const number = numbers.get(hash) ?? (isTaken || used.has(wanted) ? free() : wanted)
      numbers.set(hash, number)
      used.add(number)
      return number
    },
  }
}

function agentText({ project_id, agent_name }: GivenManifest) {
  return `${project_id} ${agent_name}`
}
