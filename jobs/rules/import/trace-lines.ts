import type { Format } from './format.ts'
import { fingerprint, ownTraceId } from './format.ts'

/** Our own: a trace as `POST /traces` takes it, its scores inline. */
export const traceLines: Format = {
  // Whoever asks for this format may name the agent for all its records.
  matches: () => true,
  traceIdOf: (record) => ownTraceId(record) ?? `trace-${fingerprint(record)}`,
  map: (record) => ({
    trace: record,
    scores: { scores: record['scores'], eval_scores: record['eval_scores'] },
    losses: [],
  }),
}
