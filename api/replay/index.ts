import type { Area } from '../endpoint.ts'
import { listReplayBatches } from './list-batches.ts'
import { listReplayTasks } from './list-tasks.ts'
import { showReplayBatch } from './show-batch.ts'
import { showReplayTask } from './show-task.ts'

export const replay: Area = [listReplayBatches, showReplayBatch, listReplayTasks, showReplayTask]
