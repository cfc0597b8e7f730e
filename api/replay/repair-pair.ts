import { listRepairRules } from '../../jobs/rules/manifests/repair-rules.ts'
import { uuidReference } from '../../jobs/shape.ts'
import type { ApiContext } from '../context.ts'
import { badRequest } from '../errors.ts'
import {
  findComparedManifest,
  findManifestPair,
  findVisibleManifest,
} from '../manifests/manifest.ts'
import type { Principal } from '../principal.ts'

/** What every request names: the manifest of the traces, and the one they are to fit. */
export const pairFields = {
  old_manifest_id: uuidReference().description('The manifest the traces were recorded under'),
  new_manifest_id: uuidReference().description('The manifest they are to fit'),
}

/**
 * The two manifests a request names, and all rules from the one to the other.
 * @throws ApiError 404 for one that does not exist or that the caller may not see; 400 for those of two
 * agents, for one manifest twice, and for more than `MAX_REPAIR_RULES` rules
 */
export async function findRepairPair(context: ApiContext, principal: Principal, named: NamedPair) {
  const after = await findVisibleManifest(context, principal, named.new_manifest_id)
  const before = await findComparedManifest(context, principal, after, named.old_manifest_id)
  if (before.id === after.id) throw badRequest('Traces fit the manifest they were recorded under')
  const pair = await findManifestPair(context, principal, { before, after })
  const rules = listRepairRules(pair.before, pair.after)
  if (rules.length > MAX_REPAIR_RULES) {
    throw badRequest(`${rules.length} rules would be needed; at most ${MAX_REPAIR_RULES} are tried`)
  }
  return { before, after, rules }
}

/** From one manifest to another. Manifests of ordinary size have a few dozen. */
export const MAX_REPAIR_RULES = 1000

export interface NamedPair {
  readonly old_manifest_id: string
  readonly new_manifest_id: string
}
