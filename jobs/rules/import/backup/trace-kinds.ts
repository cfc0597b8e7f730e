import Joi from 'joi'
import { anyText, count, freeForm, listOf, oneOf, shape } from '../../../shape.ts'
import { describeFault } from '../../core/reader.ts'
import type { Fault } from '../../core/reader.ts'
import { MAX_LABEL, MAX_REASON, readScore, SOURCES } from '../../evals/score.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Members } from '../format.ts'
import { kind } from './kind.ts'
import { fitShapes } from './repair-shapes.ts'

/**
 * `manifest_id` is null for a manifest that the backup has not; `manifest_hash` names it all the same. The
 * columns left out are what a reader of the content finds in it, and when the trace came here.
 */
export const trace = kind('trace', 'traces', {
  members: {
    project: 'project',
    trace_id: 'text',
    agent_name: 'text',
    manifest_id: 'uuid?',
    manifest_hash: 'text?',
    session_id: 'text?',
    turn_index: 'int?',
    task_id: 'text?',
    parent_trace_id: 'text?',
    routing_id: 'text?',
    user_id: 'text?',
    environment: 'text?',
    release: 'text?',
    status: 'text',
    source_type: 'text',
    started_at: 'time',
    ended_at: 'time?',
    user_input_preview: 'text?',
    final_output_preview: 'text?',
    error_code: 'text?',
    error_message: 'text?',
    tags: 'texts',
    metadata: 'json',
    session_metadata: 'json',
    active_skills: 'json',
    skills_offered_in_prompt: 'texts',
    skills_loaded_by_agent: 'texts',
    skills_delivered: 'texts',
    created_at: 'time',
    is_imported: 'boolean',
    revision: 'int',
    made_of_spans: 'boolean',
    settles_at: 'time?',
  },
  shapes: { metadata: freeForm(), session_metadata: freeForm(), active_skills: Joi.array() },
  key: ['project', 'trace_id'],
  since: 'created_at',
  // An installation may wait a day for further spans.
  aheadMs: { settles_at: DAY_MS },
  without: [
    'content',
    'tools_called',
    'span_count',
    'llm_call_count',
    'tool_call_count',
    'tool_error_count',
    'input_tokens',
    'output_tokens',
    'cost_usd',
    'llm_latency_ms',
    'malformed',
    'content_hash',
    'period',
    'restored_at',
  ],
  hasContent: true,
})

export const score = kind('score', 'eval_scores', {
  members: {
    project: 'project',
    trace_id: 'text',
    name: 'text',
    source: 'text',
    span_id: 'text',
    identifier: 'text',
    score_id: 'uuid',
    value: 'float?',
    data_type: 'text',
    label: 'text?',
    passed: 'boolean?',
    reason: 'text?',
    category: 'text',
    category_detail: 'text?',
    source_kind: 'text',
    source_label: 'text?',
    evaluator_version: 'text?',
    metadata: 'json',
    created_at: 'time',
    updated_at: 'time',
  },
  shapes: { metadata: freeForm(), source: oneOf(...SOURCES) },
  fault: faultOfScore,
  key: ['project', 'trace_id', 'name', 'source', 'span_id', 'identifier'],
  since: 'created_at',
  without: ['period'],
  isFollower: true,
})

export const annotation = kind('annotation', 'annotations', {
  members: {
    project: 'project',
    trace_id: 'text',
    id: 'uuid',
    label: 'text?',
    rating: 'int?',
    correctness: 'text?',
    error_categories: 'texts',
    corrected_output: 'text?',
    correction_withdrawn: 'boolean',
    tags: 'texts',
    notes: 'text?',
    score: 'float?',
    flagged_for_review: 'boolean?',
    created_by: 'uuid',
    created_at: 'time',
  },
  key: ['project', 'trace_id', 'id'],
  order: ['project', 'trace_id', 'created_at', 'id'],
  since: 'created_at',
  isFollower: true,
})

/** One that is made anew while a backup is written is not in it, and the trace is examined where it is restored. */
export const examination = kind('examination', 'trace_examinations', {
  members: {
    project: 'project',
    trace_id: 'text',
    is_searched: 'boolean',
    target_manifest: 'manifest?',
    verdict: 'text?',
    needs_review: 'boolean?',
    reasons: 'json?',
    repair_rules: 'json?',
    examined_at: 'time',
    given_up: 'boolean',
  },
  shapes: fitShapes,
  key: ['project', 'trace_id'],
  since: 'examined_at',
  isFollower: true,
})

/**
 * One that is decided while a backup is written may be of scores that the backup has not: it is not in it, and
 * the trace is judged where it is restored.
 */
export const verdict = kind('verdict', 'verdicts', {
  members: {
    project: 'project',
    trace_id: 'text',
    verdict: 'text',
    needs_review: 'boolean',
    quality_avg: 'float?',
    compat_avg: 'float?',
    eval_verdict: 'text?',
    reasons: 'json',
    counterfactual: 'text?',
    duplicate_of: 'text?',
    policy_agent_name: 'text',
    policy_version: 'int',
    target_manifest: 'manifest?',
    decided_at: 'time',
  },
  shapes: {
    reasons: listOf(
      shape({ rule: count(), code: anyText(), subject: anyText(), message: anyText() }),
    ).min(1),
  },
  key: ['project', 'trace_id'],
  since: 'decided_at',
  without: ['period', 'agent_name', 'started_at', 'reason_code'],
  isFollower: true,
})

/** The trace as it was repaired for a manifest. The columns left out are found in its content. */
export const revision = kind('revision', 'trace_revisions', {
  members: {
    project: 'project',
    trace_id: 'text',
    target_manifest: 'manifest',
    batch_id: 'uuid',
    trace_revision: 'int',
    rules: 'ints',
    created_at: 'time',
  },
  key: ['project', 'trace_id', 'target_manifest'],
  since: 'created_at',
  without: ['content', 'content_hash', 'tools_called'],
  hasContent: true,
  isFollower: true,
})

/** As of a score that a client sends, whose texts would be cut. Its metadata may be that of two requests. */
function faultOfScore({ metadata: _, category, category_detail, ...values }: Members) {
  const { name, label, reason, source, span_id, identifier } = values as Record<string, string>
  if ((label?.length ?? 0) > MAX_LABEL) return `label must have at most ${MAX_LABEL} characters`
  if ((reason?.length ?? 0) > MAX_REASON) return `reason must have at most ${MAX_REASON} characters`
  const sent = {
    ...values,
    // The names of evaluators may have control characters.
    name: source === 'built_in' ? name?.replace(/\p{Cc}/gu, ' ') : name,
    category: category_detail ?? category,
    span_id: span_id || null,
    identifier: identifier || null,
  }
  const faults: Fault[] = []
  readScore(sent, '', faults)
  return faults[0] && describeFault(faults[0])
}
