import { isObject } from '../../core/reader.ts'
import { millisecondsBetween } from '../foreign/foreign-time.ts'
import { parsedJson } from '../foreign/foreign-value.ts'
import type { Loss, MappedSpan, Members } from '../format.ts'
import { takeGeneration } from './langfuse-call.ts'
import { openMetadata } from './langfuse-metadata.ts'
import { isKnownMember, OBSERVATION_TYPES } from './langfuse-rows.ts'
import type { MembersLeft } from '../foreign/members-left.ts'
import {
  asId,
  asName,
  asNumber,
  asText,
  isTold,
  membersOf,
  onlyTold,
  take,
  takeTime,
  untold,
} from '../foreign/members-left.ts'
import { previewOf } from '../messages/value-preview.ts'

/**
 * An observation as a span, with its LLM call where it is a generation. What has no place of its own
 * stays among the attributes under Langfuse's names.
 */
export function mapObservation(row: Members): MappedSpan & { losses: readonly Loss[] } {
  const losses: Loss[] = []
  const known = Object.fromEntries(Object.entries(row).filter(([name]) => isKept(name, row)))
  const left = membersOf({
    ...known,
    input: parsedJson(row['input']),
    output: parsedJson(row['output']),
  })
  const type = take(left, ['type'], asText) ?? 'SPAN'
  const level = take(left, ['level'], asText)
  const metadata = openMetadata(take(left, ['metadata'], (value) => value))
  const span = {
    id: row['id'],
    parent_span_id: take(left, ['parentObservationId'], asId),
    span_type: spanTypeOf(type, left, metadata),
    name: take(left, ['name'], asText) ?? '',
    started_at: takeTime(left, 'startTime', losses),
    ended_at: takeTime(left, 'endTime', losses),
    status: level === 'ERROR' ? 'error' : 'success',
    input_preview: previewOf(left.get('input')),
    output_preview: previewOf(left.get('output')),
  }
  const facts = factsOf(left, metadata, { type, level, name: span.name })
  const latency = latencyOf(left, span)
  const call = type === 'GENERATION' ? takeGeneration(left, metadata, losses) : null
  const tool = span.span_type === 'tool' ? takeTool(left, metadata, span.name) : {}
  const comments = parsedJson(row['comments'])
  for (const _ of Array.isArray(comments) ? comments : []) {
    losses.push({ code: 'comment_dropped', message: `A comment on ${span.name} was left out` })
  }
  const { started_at, ended_at, status } = span
  return {
    span: { ...span, attributes: onlyTold({ ...facts, ...tool, ...attributesOf(left, metadata) }) },
    call: call && { ...call, latency_ms: latency, started_at, ended_at, status },
    losses,
  }
}

/**
 * Columns of scores and comments are read elsewhere; the ids are the span's and the trace's. Sums say
 * nothing where they are zero, or beside what they are made of.
 */
function isKept(name: string, row: Members) {
  if (SAID_ELSEWHERE.includes(name)) return false
  const made = MADE_OF.find(({ sums }) => sums.includes(name))?.details
  if (made !== undefined && (asNumber(row[name]) === 0 || isTold(parsedJson(row[made]))))
    return false
  return isKnownMember(name) || !Array.isArray(parsedJson(row[name]))
}

/** A plain span may be more by what its instrumentation reported, or by what it gave back. */
function spanTypeOf(type: string, left: MembersLeft, metadata: MembersLeft): string {
  if (type !== 'SPAN') return OBSERVATION_TYPES.get(type) ?? 'other'
  if (toolMessageIn(left)) return 'tool'
  const reported = membersOf(metadata.get('attributes'))
  const words = KIND_NAMES.map((name) => asText(reported.get(name))?.toLowerCase())
  const word = words.find((each) => each !== undefined && REPORTED_KINDS.has(each))
  return REPORTED_KINDS.get(word ?? '') ?? 'other'
}

/** The answer of a tool as LangChain has it. */
function toolMessageIn(left: MembersLeft): Members | undefined {
  const output = left.get('output')
  if (!isObject(output) || output['type'] !== 'tool') return undefined
  return 'content' in output && 'tool_call_id' in output ? output : undefined
}

/** What an observation says of its trace and of itself, in the names that spans of all formats use. */
function factsOf(left: MembersLeft, metadata: MembersLeft, { type, level, name }: Kind): Members {
  const reported = membersOf(metadata.get('attributes'))
  const linked = [...metadata, ...reported].filter(([key]) => /manifest_(id|hash)$/.test(key))
  return {
    'langfuse.observation.type': type,
    'langfuse.observation.level': level === 'DEFAULT' ? null : level,
    'status.message': take(left, ['statusMessage'], asText),
    'session.id': take(left, ['sessionId'], asId) ?? asId(reported.get('session.id')),
    'user.id': take(left, ['userId'], asName) ?? asName(reported.get('user.id')),
    'gen_ai.agent.name':
      asName(reported.get('gen_ai.agent.name')) ?? (type === 'AGENT' ? name : null),
    'deployment.environment.name': take(left, ['environment'], asName),
    'service.version': take(left, ['release'], asName),
    'tag.tags': take(left, ['traceTags', 'tags'], (value) => {
      const tags = parsedJson(value)
      return Array.isArray(tags) ? tags : null
    }),
    ...Object.fromEntries(linked.filter(([, value]) => typeof value === 'string')),
  }
}

/** Milliseconds: of the times where both are known, else as it is told, which exports do in two units. */
function latencyOf(left: MembersLeft, { started_at, ended_at }: Times): number | null {
  const milliseconds = take(left, ['latencyMs'], asNumber)
  const seconds = take(left, ['latency'], asNumber)
  const between = millisecondsBetween(started_at, ended_at)
  return between ?? milliseconds ?? (seconds === null ? null : seconds * 1000)
}

/** What a tool was given and gave back; of a message that is its content. */
function takeTool(left: MembersLeft, metadata: MembersLeft, name: string): Members {
  const reported = membersOf(metadata.get('attributes'))
  const message = toolMessageIn(left)
  const output = take(left, ['output'], (value) => value)
  const ids = [
    ...CALL_IDS.map((each) => reported.get(each)),
    metadata.get('tool_call_id'),
    message?.['tool_call_id'],
  ]
  return {
    'gen_ai.tool.name':
      asName(reported.get('gen_ai.tool.name')) ?? asName(message?.['name']) ?? name,
    'gen_ai.tool.call.id': ids.map(asId).find((id) => id !== null),
    'gen_ai.tool.call.arguments': take(left, ['input'], (value) => value),
    'gen_ai.tool.call.result': message ? message['content'] : output,
  }
}

/** Observations that came by OpenTelemetry have its resource and scope in their metadata. */
function attributesOf(left: MembersLeft, metadata: MembersLeft): Members {
  const resource = take(metadata, ['resourceAttributes'], (value) =>
    isObject(value) ? value : null,
  )
  const scope = take(metadata, ['scope'], (value) => (isObject(value) ? value : null))
  return { resource, scope, 'langfuse.observation.metadata': untold(metadata), ...untold(left) }
}

const SAID_ELSEWHERE = [
  'id',
  'traceId',
  'projectId',
  'scores',
  'comments',
  'createdAt',
  'updatedAt',
]
const CALL_IDS = ['gen_ai.tool.call.id', 'ai.toolCall.id']
const KIND_NAMES = ['gen_ai.operation.name', 'openinference.span.kind', 'langsmith.span.kind']
const REPORTED_KINDS: ReadonlyMap<string, string> = new Map([
  ['execute_tool', 'tool'],
  ['tool', 'tool'],
  ['invoke_agent', 'agent'],
  ['agent', 'agent'],
  ['retriever', 'retrieval'],
  ['reranker', 'retrieval'],
  ['embedding', 'retrieval'],
  ['guardrail', 'guardrail'],
  ['evaluator', 'judge'],
])
const MADE_OF = [
  {
    details: 'costDetails',
    sums: ['inputCost', 'outputCost', 'totalCost', 'calculatedTotalCost'],
  },
  {
    details: 'usageDetails',
    sums: `inputUsage outputUsage totalUsage inputTokens outputTokens totalTokens promptTokens
  completionTokens`.split(/\s+/),
  },
]

interface Kind {
  readonly type: string
  readonly level: string | null
  readonly name: string
}
interface Times {
  readonly started_at: string | null
  readonly ended_at: string | null
}
