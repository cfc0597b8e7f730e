import type { DuckDBAppender } from '@duckdb/node-api'
import type { SelectedTrace } from '../../sql/datasets/passing-traces.ts'
import { appendDouble, appendText } from '../runtime/duckdb.ts'
import type { ListedTrace } from './listed-trace.ts'

/** A trace as a row of the table `traces`, see `row-list.ts`. */
export function appendTrace(
  to: DuckDBAppender,
  index: number,
  trace: SelectedTrace,
  splitIndex: number,
) {
  to.appendInteger(index)
  for (const name of TEXTS) appendText(to, trace[name])
  to.appendVarchar(JSON.stringify(toldOf(trace)))
  appendDouble(to, trace.quality)
  to.appendBlob(trace.score_fingerprint)
  to.appendInteger(trace.policy_version)
  to.appendUTinyInt(splitIndex)
  to.endRow()
}

/** @param values those of `TRACE_COLUMNS` */
export function asTrace(values: TraceValues): ListedTrace {
  const [index, quality, splitIndex, told, ...texts] = values
  const [trace_id, period, task_id, session_id, manifest_id, attempted] = texts
  const { created_ms, ...members } = JSON.parse(told) as Told
  return {
    index,
    trace_id,
    period,
    task_id,
    session_id,
    manifest_id,
    attempted,
    quality,
    splitIndex,
    ...members,
    created_at: new Date(created_ms),
  }
}

/** What no query looks at is one value, because each value costs a call. */
function toldOf(trace: SelectedTrace): Told {
  return {
    agent_name: trace.agent_name,
    manifest_hash: trace.manifest_hash,
    verdict: trace.verdict,
    eval_verdict: trace.eval_verdict,
    reasons: trace.reasons,
    repair: trace.repair,
    replay: trace.replay,
    annotation_id: trace.annotation_id,
    source_trace_id: trace.source_trace_id,
    preferred: trace.preferred,
    pair_id: trace.pair_id,
    scores: trace.scores,
    content_bytes: trace.content_bytes,
    created_ms: trace.created_at.getTime(),
    revision: trace.revision,
  }
}

const LISTED_TEXTS = [
  'trace_id',
  'period',
  'task_id',
  'session_id',
  'manifest_id',
  'attempted',
] as const
const TEXTS = [...LISTED_TEXTS, 'parent_trace_id', 'policy_agent_name'] as const
/** The columns that `asTrace` reads. */
export const TRACE_COLUMNS = `index, quality, split_index, told, ${LISTED_TEXTS.join(', ')}`

/** The columns of the table, in the order in which `appendTrace` fills them. */
export const TRACE_TABLE = `index integer, ${TEXTS.map((name) => `${name} varchar`).join(', ')},
  told varchar, quality double, score_fingerprint blob, policy_version integer, split_index utinyint`

/** The values of `TRACE_COLUMNS`. */
export type TraceValues = [
  index: number,
  quality: number | null,
  splitIndex: number,
  told: string,
  ...texts: TextValues<typeof LISTED_TEXTS>,
]
type TextValues<Names extends readonly (keyof ListedTrace)[]> = {
  -readonly [I in keyof Names]: ListedTrace[Names[I]]
}

/** The members of a trace that no query of the row list looks at. */
type Told = Omit<
  ListedTrace,
  'index' | 'quality' | 'splitIndex' | 'created_at' | (typeof LISTED_TEXTS)[number]
> & { created_ms: number }
