import { callsIn, toolCallOf } from '../traces/message-calls.ts'
import { isObject } from '../core/reader.ts'
import type { ToolCall } from '../traces/trace.ts'
import type { Format, Members } from './format.ts'
import { fingerprint, ownTraceId } from './format.ts'

/**
 * OpenAI chat lines: `{messages, tools?}`, or request and answer of a call as
 * `{input: {messages, ...}, output}`. Members of a trace beside them (agent_name, task_id, scores,
 * metadata, ...) are taken over.
 */
export const openaiChat: Format = {
  paths: { 'llm_calls.0.rendered_input': 'messages', 'llm_calls.0.': '' },
  matches: ({ messages, input }) =>
    messages !== undefined || (isObject(input) && input['messages'] !== undefined),
  traceIdOf(record) {
    const { messages, output } = conversationIn(record)
    return ownTraceId(record) ?? `chat-${fingerprint([messages, output])}`
  },
  map(record) {
    const conversation = conversationIn(record)
    const rest = Object.entries(record).filter(([key]) => !conversation.taken.has(key))
    return {
      trace: {
        ...Object.fromEntries(rest),
        ended_at: record['ended_at'] ?? endOf(record),
        tags: isObject(record['tags']) ? tagsOf(record['tags']) : record['tags'],
        metadata: withOrigin(record['metadata'], { source: 'openai_chat' }),
        llm_calls: [callOf(conversation)],
      },
      scores: { scores: record['scores'], eval_scores: record['eval_scores'] },
      warnings: [],
    }
  },
}

/** A conversation as one LLM call: the last message, when it is the assistant's, is its output. */
export function callOf({ messages, output, said }: Conversation): Members {
  const list: unknown[] = Array.isArray(messages) ? messages : []
  const last = list.at(-1)
  const split = output === undefined && isObject(last) && last['role'] === 'assistant'
  const whole = output === undefined ? list : [...list, output]
  return {
    ...callMembers(said),
    rendered_input: split ? list.slice(0, -1) : messages,
    output: split ? last : output,
    tools: said.map(({ tools }) => tools).find(isGiven),
    tool_calls: toolCallsIn(whole),
  }
}

/** A record's metadata with where it comes from; what is no object is left for the check to refuse. */
export function withOrigin(metadata: unknown, origin: Members): unknown {
  if (isGiven(metadata) && !isObject(metadata)) return metadata
  return { ...(metadata as Members | undefined), import: origin }
}

/**
 * Every call of a conversation with its result: the tool message that names its id, or for one that
 * names none, the first call still open. A call failed only where its result says so in a member of
 * its own; texts are not interpreted.
 */
function toolCallsIn(messages: readonly unknown[]): ToolCall[] {
  const calls: ToolCall[] = []
  const byId = new Map<unknown, ToolCall>()
  let firstOpen = 0
  for (const message of messages) {
    if (!isObject(message)) continue
    for (const call of callsIn(message)) {
      const known = toolCallOf(call, undefined)
      calls.push(known)
      if (isGiven(call.id)) byId.set(call.id, known)
    }
    if (message['role'] !== 'tool') continue
    while (calls[firstOpen]?.result !== undefined) firstOpen++
    const id = message['tool_call_id']
    const answered = isGiven(id) ? byId.get(id) : calls[firstOpen]
    if (!answered) continue
    answered.result = message['content'] ?? null
    if (message['is_error'] === true || message['status'] === 'error') answered.status = 'error'
  }
  return calls
}

function conversationIn(record: Members): Conversation {
  const { input } = record
  const nested = isObject(input) && 'messages' in input ? input : undefined
  const { output, said } = answerIn(record['output'])
  const taken = new Set([...TAKEN, ...(output === undefined ? [] : ['output'])])
  if (nested) taken.add('input')
  return {
    messages: (nested ?? record)['messages'],
    output,
    said: [record, ...(nested ? [nested] : []), ...said],
    taken,
  }
}

/** What a model gave back: a text, a message, or a chat completion that holds one. */
function answerIn(given: unknown): Pick<Conversation, 'output' | 'said'> {
  if (typeof given === 'string') return { output: { role: 'assistant', content: given }, said: [] }
  if (!isObject(given)) return { output: undefined, said: [] }
  const choice: unknown = Array.isArray(given['choices']) ? given['choices'][0] : undefined
  if (isObject(choice) && isObject(choice['message'])) {
    return { output: choice['message'], said: [given, choice] }
  }
  const isMessage = 'content' in given || 'tool_calls' in given
  return { output: isMessage ? given : undefined, said: [] }
}

function callMembers(said: readonly Members[]): Members {
  const members: Members = {}
  for (const [name, ours] of Object.entries(CALL_MEMBERS)) {
    members[ours] ??= said.map((each) => each[name]).find(isGiven)
  }
  const usage = members['usage']
  if (isObject(usage)) {
    members['input_tokens'] ??= usage['prompt_tokens']
    members['output_tokens'] ??= usage['completion_tokens']
  }
  return members
}

function endOf({ started_at: start, duration_ms: duration }: Members) {
  if (typeof start !== 'string' || typeof duration !== 'number') return undefined
  const end = new Date(Date.parse(start) + duration)
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString()
}

/** Tags that are names with values. */
function tagsOf(tags: Members) {
  return Object.entries(tags).map(([name, value]) =>
    typeof value === 'string' ? `${name}:${value}` : `${name}:${JSON.stringify(value)}`,
  )
}

function isGiven(value: unknown) {
  return value !== undefined && value !== null
}

/** What an LLM call holds, by the names it has in chat lines. */
const CALL_MEMBERS: Readonly<Record<string, string>> = {
  model: 'model_name',
  model_name: 'model_name',
  provider: 'provider',
  temperature: 'temperature',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  max_output_tokens: 'max_output_tokens',
  finish_reason: 'finish_reason',
  usage: 'usage',
  input_tokens: 'input_tokens',
  output_tokens: 'output_tokens',
  latency_ms: 'latency_ms',
  cost_usd: 'cost_usd',
  response_format: 'response_format',
}
/** Members of a line that do not go to the trace as they are. */
const TAKEN = ['messages', 'tools', ...Object.keys(CALL_MEMBERS)]

export interface Conversation {
  readonly messages: unknown
  /** The model's answer, where it is not the last of the messages. */
  readonly output: Members | undefined
  /** Where members of the call are looked for, the first that has one wins. */
  readonly said: readonly Members[]
  /** Names of the record's members that went into the call. */
  readonly taken: ReadonlySet<string>
}
