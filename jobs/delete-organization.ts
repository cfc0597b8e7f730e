import { job } from './job.ts'
import type { Executor } from './pg-boss.ts'
import type { Queue } from './queue.ts'
import { SLICED_WORK } from './queue-options.ts'
import { shape, uuid } from './shape.ts'

/** Deletes an organization with everything of it. The job is the system's: nothing is left that would own it. */
export const deleteOrganization = job(
  'org.delete',
  { payload: shape({ org_id: uuid() }) },
  SLICED_WORK,
)

/** Enqueues it, unless the organization has such a job. */
export async function requestDeletion(queue: Queue, tx: Executor, orgId: string) {
  await queue.enqueue(tx, deleteOrganization, { org_id: orgId }, { orgId: null, key: orgId })
}
