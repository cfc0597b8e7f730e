import { deleteExpiredHandler } from './delete-expired.ts'
import { deleteOrganizationHandler } from './delete-organization.ts'
import { deleteTracesHandler } from './delete-traces.ts'
import { reconcileJobsHandler } from './reconcile-jobs.ts'
import { rewriteTracesHandler } from './rewrite-traces.ts'
import { settleLostDeliveriesHandler } from './settle-lost-deliveries.ts'
import { sweepStorageHandler } from './sweep-storage.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [
  reconcileJobsHandler,
  settleLostDeliveriesHandler,
  deleteExpiredHandler,
  sweepStorageHandler,
  rewriteTracesHandler,
  deleteTracesHandler,
  deleteOrganizationHandler,
]
