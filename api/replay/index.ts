import type { Area } from '../endpoint.ts'
import { applyRepair } from './apply-repair.ts'
import { applySelectiveRepair } from './apply-selective-repair.ts'
import { cancelReplayBatch } from './cancel-batch.ts'
import { claimReplayTasks } from './claim-tasks.ts'
import { createReplayBatch } from './create-batch.ts'
import { exportPrompts } from './export-prompts.ts'
import { exportSessions } from './export-sessions.ts'
import { extendReplayLease } from './extend-lease.ts'
import { linkReplayTraces } from './link-traces.ts'
import { listReplayBatches } from './list-batches.ts'
import { listReplayTasks } from './list-tasks.ts'
import { listRepairs } from './list-repairs.ts'
import { previewRepair } from './preview-repair.ts'
import { resumeReplayBatch } from './resume-batch.ts'
import { showRepair } from './show-repair.ts'
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
  exportPrompts,
  exportSessions,
  previewRepair,
  applyRepair,
  applySelectiveRepair,
  showRepair,
  listRepairs,
]
