import { parsedJson } from '../foreign/foreign-value.ts'
import type { Loss, MappedSpan, Members } from '../format.ts'
import type { MembersLeft } from '../foreign/members-left.ts'
import {
  asId,
  asList,
  asName,
  asNumber,
  asObject,
  asText,
  membersOf,
  onlyTold,
  take,
  takeFirst,
  takeSide,
  takeTime,
  takeWhole,
  untold,
  wholeOf,
} from '../foreign/members-left.ts'
import { isConversation, takeCall, takeUsage } from '../messages/model-exchange.ts'
import { toolAttributes } from '../foreign/tool-attributes.ts'
import { previewOf } from '../messages/value-preview.ts'

/**
 * A trace as the span above all others.
 * @param isCall whether a conversation in it stands for an LLM call, because no span has one
 */
export function mapOpikTrace(trace: Members, { isCall }: { isCall: boolean }): Mapped {
  const opened = open(trace)
  const { span, losses } = spanOf(opened, 'other')
  const call = isCall && isConversation(opened.input) ? callOf(opened, losses) : null
  const attributes = { ...factsOf(opened), ...attributesOf(opened, true) }
  return { span: { ...span, attributes }, call, losses }
}

/** @param traceId of the trace, where Opik told of it: it is above the spans without parent */
export function mapOpikSpan(record: Members, traceId: unknown): Mapped {
  const opened = open(record)
  const kind = asText(opened.left.get('type')) ?? ''
  const parent_span_id = take(opened.left, ['parent_span_id'], asId) ?? traceId
  const { span, losses } = spanOf(opened, SPAN_TYPES.get(kind) ?? 'other')
  const facts = factsOf(opened)
  const call = kind === 'llm' ? callOf(opened, losses) : null
  const tool = kind === 'tool' ? toolOf(opened, span.name) : {}
  const attributes = { ...facts, ...tool, ...attributesOf(opened, false) }
  return { span: { ...span, parent_span_id, attributes }, call, losses }
}

function open(record: Members): Opened {
  const left = membersOf(record)
  for (const name of SAID_ELSEWHERE) take(left, [name], asId)
  take(left, ['feedback_scores'], asList)
  const metadata = take(left, ['metadata'], (value) => asObject(parsedJson(value)))
  return {
    record,
    left,
    input: takeSide(left, 'input', 'input'),
    output: takeSide(left, 'output', 'output'),
    metadata: membersOf(metadata),
    error: membersOf(take(left, ['error_info'], asObject)),
  }
}

function spanOf({ record, left, error }: Opened, type: string) {
  const losses: Loss[] = []
  const span = {
    id: record['id'],
    parent_span_id: null as unknown,
    span_type: type,
    name: take(left, ['name'], asText) ?? '',
    started_at: takeTime(left, 'start_time', losses),
    ended_at: takeTime(left, 'end_time', losses),
    status: error.size > 0 || left.has('error_info') ? 'error' : 'success',
    input_preview: previewOf(record['input']),
    output_preview: previewOf(record['output']),
  }
  return { span, losses }
}

/** In the names that spans of all formats use. */
function factsOf({ left, metadata, error }: Opened): Members {
  const environment = takeFirst([left, metadata], ['environment'], asName)
  return onlyTold({
    'session.id': take(left, ['thread_id'], asId) ?? take(metadata, SESSIONS, asId),
    'user.id': take(metadata, ['user_id'], asName),
    'gen_ai.agent.name': take(metadata, ['agent_name'], asName),
    'deployment.environment.name': environment,
    manifest_id: take(metadata, ['manifest_id'], asName),
    manifest_hash: take(metadata, ['manifest_hash'], asName),
    'exception.type': take(error, ['exception_type'], asText),
    'exception.message': take(error, ['message'], asText),
    'exception.stacktrace': take(error, ['traceback'], asText),
  })
}

function callOf(opened: Opened, losses: Loss[]): Members {
  const { left, input, output, metadata } = opened
  const named = new Map([['model', take(left, ['model'], asName)]])
  const { call, losses: found } = takeCall(input, output, [named, metadata])
  for (const loss of found) losses.push(loss)
  return {
    ...call,
    ...takeUsage([left, metadata]),
    provider: takeFirst([left, metadata], ['provider'], asName),
    cost_usd: take(left, ['total_estimated_cost', 'total_cost'], asNumber),
  }
}

function toolOf({ input, output, metadata }: Opened, name: string): Members {
  return toolAttributes({
    name,
    id: takeFirst([metadata, input], ['tool_call_id'], asId),
    args: takeWhole(input, 'input'),
    result: takeWhole(output, 'output'),
  })
}

/** Only a trace's metadata is under that name, and its tags: those of spans are their own. */
function attributesOf({ left, input, output, metadata, error }: Opened, isTrace: boolean): Members {
  const tags = isTrace ? take(left, ['tags'], asList) : null
  return onlyTold({
    input: wholeOf(input, 'input'),
    output: wholeOf(output, 'output'),
    error_info: untold(error),
    [isTrace ? 'metadata' : 'opik.metadata']: untold(metadata),
    'tag.tags': tags,
    // Members of another type than expected are still left, and stay as they are.
    ...untold(left),
  })
}

interface Opened {
  readonly record: Members
  /** What is in none of the others. */
  readonly left: MembersLeft
  readonly input: MembersLeft
  readonly output: MembersLeft
  readonly metadata: MembersLeft
  readonly error: MembersLeft
}
interface Mapped extends MappedSpan {
  readonly losses: readonly Loss[]
}

const SPAN_TYPES: ReadonlyMap<string, string> = new Map([
  ['llm', 'llm'],
  ['tool', 'tool'],
  ['guardrail', 'guardrail'],
])
/** The ids are the span's and the trace's; project and scores are told of the trace. */
const SAID_ELSEWHERE = ['id', 'trace_id', 'project_id', 'project_name']
const SESSIONS = ['session_id', 'thread_id', 'conversation_id']
