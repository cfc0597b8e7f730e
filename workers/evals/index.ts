import { aggregateScoresHandler } from './aggregate-scores.ts'
import { decideTracesHandler } from './decide-traces.ts'
import { detectViolationsHandler } from './detect-violations.ts'
import { judgeTracesHandler } from './judge-traces.ts'
import { settleTracesHandler } from './settle-traces.ts'

/** What does the jobs of the pool. */
export const handlers = [
  settleTracesHandler,
  judgeTracesHandler,
  decideTracesHandler,
  aggregateScoresHandler,
  detectViolationsHandler,
]
