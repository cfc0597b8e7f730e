import type { Recipe } from './recipe.ts'
import type { Candidate, Row } from './rows.ts'
import { trainingJson } from '../core/training-json.ts'

/** Where the rejected side of a pair comes from, and who made it a pair. */
export interface PairOrigin<C extends Candidate = Candidate> {
  readonly rejected: C
  readonly source: 'attempts' | 'replay' | 'correction' | 'preference'
}

/** Canonical JSON of where a row comes from. `row_id` is the first half of the row hash. */
export function provenanceText(
  candidate: Candidate,
  row: Row,
  { dataset_type: type }: Recipe,
  pair?: PairOrigin,
) {
  return trainingJson({
    ...provenance(candidate),
    ...(pair && { rejected: provenance(pair.rejected), pair_source: pair.source }),
    // A trace to repair gives a row of this type only when its failed steps are masked.
    repaired: type === 'sft' && candidate.verdict === 'repair',
    ...(type !== 'kto' && { annotation_id: row.corrected ? candidate.annotation_id : null }),
    tools_from: row.tools_from,
    row_id: row.hash.toString('hex', 0, 16),
  }) as string
}

function provenance(candidate: Candidate) {
  const { trace_id, agent_name, manifest_hash, verdict, scores, task_id, session_id } = candidate
  return { trace_id, agent_name, manifest_hash, verdict, scores, task_id, session_id }
}
