import { planTransition, silentTools } from '../../jobs/rules/manifests/compat-plan.ts'
import { findStoredPair } from '../../sql/manifests/manifest-components.ts'
import { GiveUp } from '../runtime/give-up.ts'
import type { Run } from '../runtime/handler.ts'

/** Two manifests by which traces are compared. */
export async function readCompared({ sql, orgId }: Run, oldId: string, newId: string) {
  const { before, after } = await findStoredPair(sql, orgId, oldId, newId)
  if (!before || !after) throw new GiveUp('manifest_gone', 'A manifest has been deleted')
  // Finding them validates nothing, so no schema is compiled.
  const silent = silentTools(planTransition(before, after, () => () => undefined))
  return { manifest: before, target: after, silentTools: silent }
}

export type Compared = Awaited<ReturnType<typeof readCompared>>
