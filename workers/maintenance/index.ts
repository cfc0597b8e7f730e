import { deleteExpiredHandler } from './delete-expired.ts'
import { deleteOrganizationHandler } from './delete-organization.ts'
import { deleteTracesHandler } from './delete-traces.ts'
import { reconcileJobsHandler } from './reconcile-jobs.ts'
import { rewriteTracesHandler } from './rewrite-traces.ts'
import { settleLostDeliveriesHandler } from './settle-lost-deliveries.ts'
import { sweepStorageHandler } from './sweep-storage.ts'

/** What does the jobs of the pool. */
export const handlers = [
  reconcileJobsHandler,
  settleLostDeliveriesHandler,
  deleteExpiredHandler,
  sweepStorageHandler,
  rewriteTracesHandler,
  deleteTracesHandler,
  deleteOrganizationHandler,
]
