import type { Area } from '../endpoint.ts'
import { decideCheck } from './decide-check.ts'
import { listChecks } from './list-checks.ts'
import { replayCalls } from './replay-calls.ts'
import { resolveFinding } from './resolve-finding.ts'
import { runBisect } from './run-bisect.ts'
import { runCheck } from './run-check.ts'
import { showBisect } from './show-bisect.ts'
import { showCheck } from './show-check.ts'

export const regression: Area = [
  runCheck,
  listChecks,
  showCheck,
  decideCheck,
  replayCalls,
  runBisect,
  showBisect,
  resolveFinding,
]
