import type { Area } from '../endpoint.ts'
import { cancelReplayBatch } from './cancel-batch.ts'
import { createReplayBatch } from './create-batch.ts'
import { exportPrompts } from './export-prompts.ts'
import { exportSessions } from './export-sessions.ts'
import { listReplayBatches } from './list-batches.ts'
import { listReplayTasks } from './list-tasks.ts'
import { showReplayBatch } from './show-batch.ts'
import { showReplayTask } from './show-task.ts'

export const replay: Area = [
  createReplayBatch,
  listReplayBatches,
  showReplayBatch,
  listReplayTasks,
  cancelReplayBatch,
  showReplayTask,
  exportPrompts,
  exportSessions,
]
