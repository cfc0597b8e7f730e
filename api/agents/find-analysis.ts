import { findNewestReport } from '../../sql/compat-reports.ts'
import type { ApiContext } from '../context.ts'
import { startAnalysis } from '../manifests/start-analysis.ts'
import type { Principal } from '../principal.ts'
import type { Transition } from './find-transition.ts'

/**
 * The newest analysis of a transition, complete or on its way, which the registration usually started;
 * else a new one.
 * @param again start a new one in any case
 */
export async function findAnalysis(
  context: ApiContext,
  principal: Principal,
  { before, after }: Transition,
  again = false,
) {
  const known = again
    ? undefined
    : await findNewestReport(context.sql, principal.orgId, before.id, after.id)
  return known ?? startAnalysis(context, principal, before, after, WINDOW_DAYS)
}

const WINDOW_DAYS = 30
