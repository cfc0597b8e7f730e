import { dispatchReplayHandler } from './dispatch-replay.ts'
import { prepareReplayHandler } from './prepare-replay.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [prepareReplayHandler, dispatchReplayHandler]
