import type { Area } from '../endpoint.ts'
import { cancelReplayBatch } from './cancel-batch.ts'
import { createReplayBatch } from './create-batch.ts'
import { claimReplayTasks } from './claim-tasks.ts'
import { extendReplayLease } from './extend-lease.ts'
import { linkReplayTraces } from './link-traces.ts'
import { listReplayBatches } from './list-batches.ts'
import { listReplayTasks } from './list-tasks.ts'
import { resumeReplayBatch } from './resume-batch.ts'
import { showReplayBatch } from './show-batch.ts'
import { showReplayTask } from './show-task.ts'
import { submitReplayTask } from './submit-task.ts'

export const replay: Area = [
  createReplayBatch,
  listReplayBatches,
  showReplayBatch,
  listReplayTasks,
  cancelReplayBatch,
  resumeReplayBatch,
  claimReplayTasks,
  showReplayTask,
  extendReplayLease,
  submitReplayTask,
  linkReplayTraces,
]
