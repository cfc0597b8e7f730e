import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { EVAL_VERDICTS, VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { HANDOFF_FROM, HANDOFF_TO } from '../../jobs/rules/traces/agent-edges.ts'
import {
  MAX_ITEMS,
  SOURCE_TYPES,
  SPAN_TYPES,
  TRACE_STATUSES,
} from '../../jobs/rules/traces/trace.ts'
import { nullable, times } from '../fields.ts'
import { MAX_SCORES } from '../../jobs/rules/evals/score.ts'
import { scoreBody } from '../evals/score.ts'

/** A member that may be absent too. */
const orNull = <S extends Joi.Schema>(schema: S) => schema.allow(null)
const word = (...words: readonly string[]) => Joi.string().valid(...words)
const freeObject = () => Joi.object().unknown(true)
const strings = (max: number) => listOf(Joi.string()).max(max)

const messages = listOf(
  freeObject().description('An OpenAI chat message: role, content, tool_calls, tool_call_id, name'),
).max(MAX_ITEMS.messages)

export const spanBody = Joi.object({
  id: Joi.string(),
  parent_span_id: orNull(Joi.string()),
  span_type: word(...SPAN_TYPES),
  name: Joi.string().allow(''),
  status: Joi.string(),
  started_at: orNull(times),
  ended_at: orNull(times),
  input_preview: orNull(Joi.string()),
  output_preview: orNull(Joi.string()),
  attributes: freeObject().description(
    `A hand-off names its target by the first of ${HANDOFF_TO.join(', ')}, else by the span's name; and who hands over by the first of ${HANDOFF_FROM.join(', ')}, else it is the agent around it`,
  ),
}).label('Span')

const toolCallBody = Joi.object({
  id: orNull(Joi.string()),
  tool_name: Joi.string(),
  tool_version: orNull(Joi.string()),
  status: Joi.string(),
  args: Joi.any(),
  result: Joi.any(),
  latency_ms: orNull(Joi.number()),
}).label('ToolCall')

const llmCallBody = Joi.object({
  id: Joi.string(),
  span_id: orNull(Joi.string()),
  agent_name: orNull(Joi.string()),
  call_role: word('planner', 'responder', 'subagent', 'judge', 'router', 'other'),
  provider: orNull(Joi.string()),
  model_name: orNull(Joi.string()),
  temperature: orNull(Joi.number()),
  max_output_tokens: orNull(Joi.number().integer()),
  rendered_input: messages,
  output: freeObject().description('The message the model gave back'),
  tools: listOf(freeObject())
    .max(MAX_ITEMS.tools)
    .description('Schemas of the tools the model was offered'),
  tool_calls: listOf(toolCallBody).max(MAX_ITEMS.tool_calls),
  finish_reason: orNull(Joi.string()),
  input_tokens: orNull(Joi.number().integer()),
  output_tokens: orNull(Joi.number().integer()),
  usage: freeObject(),
  latency_ms: orNull(Joi.number()),
  cost_usd: orNull(Joi.number()),
  streaming: Joi.boolean(),
  content_type: orNull(Joi.string()),
  response_format: orNull(freeObject()),
  status: Joi.string(),
  started_at: orNull(times),
  ended_at: orNull(times),
}).label('LlmCall')

/** What of a trace could not be stored as it was sent. */
export const warningFields = {
  code: word('invalid_score', 'unknown_manifest').required(),
  message: Joi.string().required(),
}

/** Members that a client sends and reads back. */
const givenFields = {
  agent_name: Joi.string().max(256),
  manifest_id: orNull(Joi.string().guid()),
  manifest_hash: orNull(Joi.string()).description('Answers have it without `sha256:` in front'),
  session_id: orNull(Joi.string()),
  turn_index: orNull(Joi.number().integer()),
  task_id: orNull(Joi.string()).description('Groups the attempts at one task'),
  parent_trace_id: orNull(Joi.string()),
  routing_id: orNull(Joi.string()),
  user_id: orNull(Joi.string()),
  environment: orNull(Joi.string()),
  release: orNull(Joi.string()),
  status: word(...TRACE_STATUSES),
  source_type: word(...SOURCE_TYPES),
  started_at: times,
  ended_at: orNull(times),
  user_input_preview: orNull(Joi.string()),
  final_output_preview: orNull(Joi.string()),
  error_code: orNull(Joi.string()),
  error_message: orNull(Joi.string()),
  tags: strings(MAX_ITEMS.tags),
  metadata: freeObject(),
  session_metadata: freeObject(),
  active_skills: listOf(
    Joi.object({ name: Joi.string(), hash: Joi.string() }).label('ActiveSkill'),
  ).max(MAX_ITEMS.skills),
  skills_offered_in_prompt: strings(MAX_ITEMS.skills),
  skills_loaded_by_agent: strings(MAX_ITEMS.skills),
  skills_delivered: strings(MAX_ITEMS.skills),
}

const contentFields = {
  spans: listOf(spanBody).max(MAX_ITEMS.spans),
  llm_calls: listOf(llmCallBody).max(MAX_ITEMS.llm_calls),
}

/** The body of POST /traces; no member is required. */
export const traceRequest = Joi.object({
  id: Joi.string().max(128),
  trace_id: Joi.string().max(128).description('Made when absent; 1 to 128 printable characters'),
  project: Joi.string().max(256).description('Project id or name'),
  ...givenFields,
  agent_name: orNull(Joi.string().max(256)).description('`default` when absent'),
  manifest_id: orNull(Joi.string()).description(
    "One that is none of the agent's manifests is kept as metadata.unknown_manifest_id",
  ),
  ...contentFields,
  scores: Joi.alternatives(
    freeObject().description('name: number from 0 to 1, true or false'),
    listOf(freeObject()).max(MAX_SCORES),
  ).description('Scores that come with the trace; `eval_scores` does as well'),
})
  .label('TraceRequest')
  .example({
    agent_name: 'shop-agent',
    llm_calls: [
      {
        model_name: 'large-2',
        rendered_input: [{ role: 'user', content: 'Where is order 42?' }],
        output: { role: 'assistant', content: 'It should be with you on Friday.' },
      },
    ],
  })

const shownFields = {
  id: Joi.string().required().description('The same as trace_id'),
  trace_id: Joi.string().required(),
  project: Joi.string().required().description('Name of the project'),
  project_id: Joi.string().guid().required(),
  ...givenFields,
  version_label: orNull(Joi.string()).description(
    'Of the manifest of `manifest_id`; null without one',
  ),
  duration_ms: orNull(Joi.number()),
  tools_called: listOf(Joi.string()),
  span_count: Joi.number().integer(),
  llm_call_count: Joi.number().integer(),
  tool_call_count: Joi.number().integer(),
  tool_error_count: Joi.number().integer(),
  input_tokens: Joi.number().integer(),
  output_tokens: Joi.number().integer(),
  cost_usd: orNull(Joi.number()),
  llm_latency_ms: orNull(Joi.number()),
  content_hash: orNull(Joi.string()).description(
    'SHA-256 of its conversation, which a rating of a skill names as `trace_hash`; null without one',
  ),
  eval_verdict: orNull(word(...EVAL_VERDICTS)),
  eval_score: orNull(Joi.number()).description('Quality, 0 to 1'),
  verdict: orNull(word(...VERDICTS)).description('Null until the trace was judged'),
  reason_code: orNull(Joi.string()).description(
    'Of the rule that decided the verdict, as `reasons[0].code` of the decision; null without a verdict',
  ),
  needs_review: orNull(Joi.boolean()),
  revision: Joi.number().integer().description('How often it was changed since it was stored'),
  created_at: times,
}

export const annotationBody = Joi.object({
  id: Joi.string().guid().required(),
  label: nullable(Joi.string()),
  rating: nullable(Joi.number().integer()),
  correctness: nullable(Joi.string()),
  error_categories: listOf(Joi.string()).required(),
  corrected_output: nullable(Joi.string()),
  correction_withdrawn: Joi.boolean()
    .required()
    .description('It takes back the corrected output that was given before'),
  tags: listOf(Joi.string()).required(),
  notes: nullable(Joi.string()),
  score: nullable(Joi.number()),
  flagged_for_review: nullable(Joi.boolean()),
  created_by: Joi.string().guid().required().description('The API key'),
  created_at: times.required(),
}).label('Annotation')

/** A trace of a list, whose members are all there. */
export const listedTraceBody = Joi.object(shownFields)
  .fork(Object.keys(shownFields), (member) => member.required())
  .label('ListedTrace')
/** A trace by itself: members that `fields` leaves out are absent. */
export const traceBody = Joi.object({
  ...shownFields,
  ...contentFields,
  revisions: listOf(
    Joi.object({
      target_manifest_id: Joi.string().guid().required(),
      batch_id: Joi.string().guid().required().description('The repair that made it'),
      created_at: times.required(),
    }).label('TraceRevision'),
  ).description('For which manifests it was repaired as it is now: the newest 100'),
  spans_truncated: Joi.boolean().description('There are more spans than shown: read them by page'),
  eval_scores: listOf(scoreBody),
  annotations: listOf(annotationBody).description('Newest first'),
}).label('Trace')
