import type { Recipe } from './recipe.ts'
import type { Candidate, Repair, ReplayResult } from './candidates.ts'
import type { Row } from './row-writer.ts'
import { trainingJson } from '../core/training-json.ts'

/** Where the rejected side of a pair comes from, and who made it a pair. */
export interface PairOrigin<C extends Candidate = Candidate> {
  readonly rejected: C
  readonly source: 'attempts' | 'replay' | 'correction' | 'preference'
  /** The task that the replay among the two is the result of. */
  readonly replay?: ReplayResult | null
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
    ...(candidate.repair && repairedBy(candidate.repair)),
    ...(pair && { rejected: provenance(pair.rejected), pair_source: pair.source }),
    ...(pair?.replay && { replay: pair.replay }),
    // A trace to repair gives a row of this type only when every reason for it has its patch.
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

/** The manifest of the trace stays the one that it was recorded with. */
function repairedBy({ batch_id, target_manifest_id, target_manifest_hash, rules }: Repair) {
  return { target_manifest_hash, repair: { batch_id, target_manifest_id, rules } }
}
