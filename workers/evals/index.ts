import { aggregateScoresHandler } from './aggregate-scores.ts'
import { decideTracesHandler } from './decide-traces.ts'
import { detectViolationsHandler } from './detect-violations.ts'
import { judgeTracesHandler } from './judge-traces.ts'
import { settleTracesHandler } from './settle-traces.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [
  settleTracesHandler,
  judgeTracesHandler,
  decideTracesHandler,
  aggregateScoresHandler,
  detectViolationsHandler,
]
