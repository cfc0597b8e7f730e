import Joi from 'joi'
import { bool, oneOf, shape } from '../../../shape.ts'
import { BASES } from '../../replay/comparison.ts'
import { storedFilters } from './dataset-shapes.ts'
import { orNull } from './json-shapes.ts'
import { kind } from './kind.ts'

const comparison = shape({
  outcome: oneOf('win', 'loss', 'tie'),
  basis: oneOf(...BASES, null),
  score_delta: orNull(Joi.number()),
  final_output_changed: orNull(bool()),
  tool_path_changed: orNull(bool()),
  latency_delta_ms: orNull(Joi.number()),
  cost_delta_usd: orNull(Joi.number()),
})

/** A batch whose tasks were made, or of links. Its jobs are not kept. */
export const replayBatch = kind('replay_batch', 'replay_batches', {
  members: {
    project: 'project',
    id: 'uuid',
    agent_name: 'text',
    source_manifest: 'manifest?',
    trace_ids: 'texts?',
    filters: 'json?',
    manifests_within: 'manifests_within?',
    target_manifest: 'manifest?',
    mode: 'text',
    runner_url: 'text?',
    max_in_flight: 'int',
    note: 'text?',
    is_linked: 'boolean',
    prepared_at: 'time?',
    paused_reason: 'text?',
    created_by: 'uuid?',
    created_at: 'time',
    canceled_at: 'time?',
    expires_at: 'time',
  },
  shapes: { filters: storedFilters },
  fault({ is_linked, prepared_at }) {
    return is_linked === true || prepared_at !== null
      ? undefined
      : 'prepared_at is required of a batch that is not linked'
  },
  key: ['id'],
  since: 'created_at',
  without: ['job_id', 'dispatch_job_id'],
})

/** A task that a runner has is written as `pending`: a lease holds at the installation that gave it. */
export const replayTask = kind('replay_task', 'replay_tasks', {
  members: {
    project: 'project',
    batch_id: 'uuid',
    id: 'uuid',
    ordinal: 'int',
    trace_id: 'text',
    replayability: 'text',
    status: 'text',
    attempt: 'int',
    reason: 'text?',
    replayed_trace_id: 'text?',
    eval_score: 'float?',
    eval_verdict: 'text?',
    comparison: 'json?',
    submission_hash: 'bytes?',
    created_at: 'time',
    ended_at: 'time?',
  },
  shapes: { comparison },
  key: ['batch_id', 'ordinal'],
  since: 'created_at',
  without: ['lease_token', 'leased_by', 'leased_until'],
})
