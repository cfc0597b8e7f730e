export interface RecorderOptions {
  readonly model: string
  readonly system: string
  readonly tools: readonly object[]
  readonly startedAt: Date
  /** What was said in the conversation before. */
  readonly history?: readonly object[] | undefined
  /** 0 to 1; called for each duration. */
  readonly random: () => number
}

export interface ToolUse {
  readonly name: string
  readonly args: object
  readonly result: object
  readonly failed?: boolean
}

/** Records what an agent does the way a client library would: a call of the model at a time. */
export function openRecorder(options: RecorderOptions) {
  const { model, tools, startedAt, random, system } = options
  const messages: object[] = [...(options.history ?? [{ role: 'system', content: system }])]
  const llm_calls: object[] = []
  const startedText = startedAt.toISOString()
  const spans: object[] = [span('root', null, 'agent', 'run', startedText, startedText)]
  let at = startedAt
  let toolCount = 0

  function pass(ms: number) {
    const started_at = at.toISOString()
    const latency_ms = Math.round(ms * (0.5 + random()))
    at = new Date(at.getTime() + latency_ms)
    return { started_at, ended_at: at.toISOString(), latency_ms }
  }

  function useTool({ id, name, args, result, failed }: Asked, parentSpanId: string) {
    const { started_at, ended_at, latency_ms } = pass(120)
    const status = failed ? 'error' : 'success'
    spans.push({ ...span(`tool-${id}`, parentSpanId, 'tool', name, started_at, ended_at), status })
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) })
    return { id, tool_name: name, status, args, result, latency_ms }
  }

  function call(content: string, uses: readonly ToolUse[]) {
    const number = llm_calls.length + 1
    const asked = uses.map((use) => ({ ...use, id: `call_${++toolCount}` }))
    const output = answer(content, asked)
    const rendered_input = [...messages]
    const took = pass(700 + content.length * 6)
    spans.push(span(`llm-${number}`, 'root', 'llm', model, took.started_at, took.ended_at))
    messages.push(output)
    const tool_calls = asked.map((use) => useTool(use, `llm-${number}`))
    llm_calls.push({
      ...describeCall(model, number, rendered_input, output),
      model_name: model,
      tools,
      tool_calls,
      finish_reason: asked.length > 0 ? 'tool_calls' : 'stop',
      ...took,
    })
  }

  /** Something that happens beside calls of models and tools. */
  function step(span_type: string, name: string, more: SpanMembers = {}) {
    const { started_at, ended_at } = pass(60)
    spans.push({
      ...span(`${span_type}-${spans.length}`, 'root', span_type, name, started_at, ended_at),
      ...more,
    })
  }

  return {
    step,
    user: (content: string) => void messages.push({ role: 'user', content }),
    /** The model answers; with `uses`, it calls tools and gets their results. */
    agent: (content: string, ...uses: readonly ToolUse[]) => call(content, uses),
    messages: () => messages,
    /** The members of a trace that follow from what was recorded. */
    end() {
      const ended_at = at.toISOString()
      const closed = [{ ...spans[0], ended_at }, ...spans.slice(1)]
      return { started_at: startedText, ended_at, llm_calls, spans: closed }
    },
  }
}
export type Recorder = ReturnType<typeof openRecorder>

function answer(content: string, asked: readonly Asked[]) {
  const calls = asked.length > 0 && { tool_calls: asked.map(messageCall) }
  return { role: 'assistant', content, ...calls }
}

/** The members of a call of the model that follow from its number and its messages. */
function describeCall(
  model: string,
  number: number,
  rendered_input: readonly object[],
  output: object,
) {
  const input_tokens = tokensOf(rendered_input)
  const output_tokens = tokensOf(output)
  const price = model.includes('small') ? SMALL_PRICE : LARGE_PRICE
  return {
    id: `llm-call-${number}`,
    span_id: `llm-${number}`,
    provider: 'example',
    temperature: 0,
    rendered_input,
    output,
    input_tokens,
    output_tokens,
    cost_usd: Math.round(input_tokens * price.input + output_tokens * price.output) / 1e6,
  }
}

function tokensOf(said: unknown) {
  return Math.ceil(JSON.stringify(said).length / 4)
}

function messageCall({ id, name, args }: Asked) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
}

function span(
  id: string,
  parent_span_id: string | null,
  span_type: string,
  name: string,
  started_at: string,
  ended_at: string,
) {
  return { id, parent_span_id, span_type, name, status: 'success', started_at, ended_at }
}

type Asked = ToolUse & { readonly id: string }

interface SpanMembers {
  readonly status?: 'success' | 'error'
  readonly attributes?: Readonly<Record<string, string>>
}

/** US dollars for a million tokens. */
const LARGE_PRICE = { input: 2.5, output: 10 }
const SMALL_PRICE = { input: 0.4, output: 1.6 }
