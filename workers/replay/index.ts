import { dispatchReplayHandler } from './dispatch-replay.ts'
import { prepareReplayHandler } from './prepare-replay.ts'

/** What does the jobs of the pool. */
export const handlers = [prepareReplayHandler, dispatchReplayHandler]
