import t from 'tap'
import type { Members } from '../../../../../jobs/rules/import/format.ts'
import { spansOfRequest } from '../../../../../jobs/rules/import/otlp/otlp-spans.ts'
import type { TakenSpan } from '../../../../../jobs/rules/import/otlp/otlp-spans.ts'
import { otlpSpan, requestOf } from '../../../../support/otlp-requests.ts'
import fc from '../../../../support/property.ts'

/** More of them with FUZZ_RUNS. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300)
const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' }
const MORE_NAMES = [
  'gen_ai.tool.definitions',
  'gen_ai.tool.name',
  'gen_ai.tool.call.arguments',
  'gen_ai.response.finish_reasons',
  'gen_ai.usage.input_tokens',
  'gen_ai.output.type',
  'gen_ai.prompt',
  'gen_ai.completion',
  'llm.request.type',
  'llm.request.functions.0.parameters',
  'traceloop.span.kind',
  'traceloop.entity.name',
  'events',
  'error.type',
  'openinference.span.kind',
  'llm.input_messages.0.message.content',
  'ai.operationId',
  'ai.prompt.messages',
  'langfuse.observation.type',
  'langfuse.observation.input',
  'langfuse.observation.usage_details',
  'langfuse.observation.model.parameters',
  'langfuse.trace.metadata',
  'langfuse.trace.metadata.a',
  'langfuse.trace.tags',
]
/** What each generation tells. */
const CONVERSATION = {
  rendered_input: [
    { role: 'system', content: 'You help.' },
    { role: 'user', content: 'Weather in Paris?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'rainy' },
  ],
  output: { role: 'assistant', content: 'It rains.' },
  finish_reason: 'stop',
}
const STRUCTURED = {
  'gen_ai.system_instructions': [{ type: 'text', content: 'You help.' }],
  'gen_ai.input.messages': [
    { role: 'user', parts: [{ type: 'text', content: 'Weather in Paris?' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: { city: 'Paris' } },
      ],
    },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: 'rainy' }] },
  ],
  'gen_ai.output.messages': [
    { role: 'assistant', parts: [{ type: 'text', content: 'It rains.' }], finish_reason: 'stop' },
  ],
}
const NUMBERED = {
  'gen_ai.prompt.0.role': 'system',
  'gen_ai.prompt.0.content': 'You help.',
  'gen_ai.prompt.1.role': 'user',
  'gen_ai.prompt.1.content': 'Weather in Paris?',
  'gen_ai.prompt.2.role': 'assistant',
  'gen_ai.prompt.2.tool_calls.0.id': 'call_1',
  'gen_ai.prompt.2.tool_calls.0.name': 'get_weather',
  'gen_ai.prompt.2.tool_calls.0.arguments': '{"city":"Paris"}',
  'gen_ai.prompt.3.role': 'tool',
  'gen_ai.prompt.3.tool_call_id': 'call_1',
  'gen_ai.prompt.3.content': 'rainy',
  'gen_ai.completion.0.role': 'assistant',
  'gen_ai.completion.0.content': 'It rains.',
  'gen_ai.completion.0.finish_reason': 'stop',
}
const CALLS = JSON.stringify([
  {
    id: 'call_1',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
  },
])
const EVENTS = [
  { name: 'gen_ai.system.message', attributes: { content: 'You help.' } },
  { name: 'gen_ai.user.message', attributes: { content: 'Weather in Paris?' } },
  { name: 'gen_ai.assistant.message', attributes: { tool_calls: CALLS } },
  { name: 'gen_ai.tool.message', attributes: { content: 'rainy', id: 'call_1' } },
  {
    name: 'gen_ai.choice',
    attributes: {
      index: 0,
      finish_reason: 'stop',
      message: '{"role":"assistant","content":"It rains."}',
    },
  },
]

t.test('every generation of the conventions tells the same conversation', (t) => {
  const told: Record<string, Members> = {
    'structured attributes': { attributes: { ...CHAT, ...STRUCTURED } },
    'structured attributes as JSON': { attributes: { ...CHAT, ...asJson(STRUCTURED) } },
    'numbered attributes': { attributes: { ...CHAT, ...NUMBERED } },
    'span events': { attributes: CHAT, events: EVENTS },
    'an event with structured attributes': {
      attributes: CHAT,
      events: [
        { name: 'gen_ai.client.inference.operation.details', attributes: asJson(STRUCTURED) },
      ],
    },
    'events in an attribute': {
      attributes: {
        ...CHAT,
        events: JSON.stringify(
          EVENTS.map(({ name, attributes }) => ({ 'event.name': name, ...attributes })),
        ),
      },
    },
  }
  for (const [generation, members] of Object.entries(told)) {
    const { mapped, losses } = read(members)
    const { rendered_input, output, finish_reason } = mapped.call ?? {}
    t.strictSame({ rendered_input, output, finish_reason }, CONVERSATION, generation)
    t.strictSame(losses, [], generation)
    const kept = JSON.stringify(mapped.span['attributes'])
    t.notMatch(kept, 'Paris', `${generation}: what is in the call is not kept beside it`)
    t.equal(mapped.span['input_preview'], 'rainy', generation)
    t.equal(mapped.span['output_preview'], 'It rains.', generation)
  }
  t.end()
})

t.test('a call has its model, settings, tokens, cost and tools', (t) => {
  const { mapped, losses } = read({
    attributes: {
      ...CHAT,
      'gen_ai.provider.name': 'openai',
      'gen_ai.response.model': 'm-2026-01-01',
      'gen_ai.response.id': 'r1',
      'gen_ai.response.finish_reasons': ['length'],
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.stream': true,
      'gen_ai.output.type': 'json',
      'gen_ai.usage.input_tokens': 42,
      'gen_ai.usage.output_tokens': 11,
      'gen_ai.usage.cache_read.input_tokens': 7,
      'gen_ai.usage.cache_creation.input_tokens': 5,
      'gen_ai.usage.reasoning.output_tokens': 3,
      'gen_ai.usage.cost': 0.01,
      'gen_ai.tool.definitions': JSON.stringify([
        { type: 'function', name: 'get_weather', description: 'd', parameters: { type: 'object' } },
      ]),
    },
  })
  t.strictSame(losses, [])
  t.strictSame(mapped.call, {
    provider: 'openai',
    model_name: 'm-2026-01-01',
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'd', parameters: { type: 'object' } },
      },
    ],
    finish_reason: 'length',
    input_tokens: 42,
    output_tokens: 11,
    usage: {
      prompt_tokens: 42,
      completion_tokens: 11,
      prompt_tokens_details: { cached_tokens: 7, cache_creation_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    cost_usd: 0.01,
    temperature: 0.2,
    max_output_tokens: 100,
    streaming: true,
    response_format: { type: 'json_object' },
  })
  t.match(mapped.span['attributes'], {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.response.id': 'r1',
    'gen_ai.request.top_p': 0.9,
  })
  t.end()
})

t.test('a call of OpenLLMetry has its tokens and tools by the older names', (t) => {
  const { mapped, losses } = read({
    attributes: {
      'llm.request.type': 'chat',
      'gen_ai.system': 'OpenAI',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.prompt_tokens': 3,
      'gen_ai.usage.completion_tokens': 2,
      'llm.usage.total_tokens': 5,
      'gen_ai.usage.cache_read_input_tokens': 1,
      'llm.is_streaming': false,
      'llm.request.functions.0.name': 'get_weather',
      'llm.request.functions.0.description': 'd',
      'llm.request.functions.0.parameters': '{"type":"object"}',
      'traceloop.association.properties.user_id': 'u1',
      'traceloop.association.properties.thread_id': 's1',
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': '[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
    },
  })
  t.strictSame(losses, [])
  t.match(mapped.call, {
    provider: 'OpenAI',
    model_name: 'm',
    input_tokens: 3,
    output_tokens: 2,
    usage: {
      prompt_tokens: 3,
      completion_tokens: 2,
      total_tokens: 5,
      prompt_tokens_details: { cached_tokens: 1 },
    },
    streaming: false,
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'd', parameters: { type: 'object' } },
      },
    ],
    rendered_input: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
  })
  t.match(mapped.span['attributes'], { 'user.id': 'u1', 'session.id': 's1' })
  t.end()
})

t.test('the word for an operation tells the type of a span', (t) => {
  const typeOf = (attributes: Members) => read({ attributes }).mapped.span['span_type']
  const types = {
    chat: 'llm',
    generate_content: 'llm',
    text_completion: 'llm',
    execute_tool: 'tool',
    invoke_agent: 'agent',
    create_agent: 'agent',
    invoke_workflow: 'planning',
    plan: 'planning',
    retrieval: 'retrieval',
    embeddings: 'retrieval',
    something_else: 'other',
  }
  for (const [operation, type] of Object.entries(types)) {
    t.equal(typeOf({ 'gen_ai.operation.name': operation }), type, operation)
  }
  t.equal(typeOf({ 'traceloop.span.kind': 'workflow' }), 'planning')
  t.equal(typeOf({ 'traceloop.span.kind': 'tool' }), 'tool')
  t.equal(typeOf({ 'llm.request.type': 'embedding' }), 'retrieval')
  t.equal(typeOf({ 'gen_ai.request.model': 'm' }), 'llm')
  t.equal(typeOf({ 'gen_ai.tool.call.id': 'c' }), 'tool')
  t.equal(typeOf({ 'gen_ai.agent.name': 'a' }), 'other')
  t.end()
})

t.test('a workflow of OpenLLMetry is no agent', (t) => {
  const entity = (kind: string) => {
    const attributes = { 'traceloop.span.kind': kind, 'traceloop.entity.name': 'find' }
    return read({ attributes }).mapped.span['attributes']
  }
  t.match(entity('workflow'), { 'gen_ai.workflow.name': 'find', 'gen_ai.agent.name': undefined })
  t.match(entity('agent'), { 'gen_ai.agent.name': 'find', 'gen_ai.workflow.name': undefined })
  t.end()
})

t.test('a tool span has the name, arguments and result of its call', (t) => {
  const tool = (attributes: Members, events: Members[] = []) =>
    read({ name: 'execute_tool search', attributes, events }).mapped.span
  const standard = tool({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.id': 'call_1',
    'gen_ai.tool.call.arguments': '{"q":"x"}',
    'gen_ai.tool.call.result': { found: 2 },
  })
  t.match(standard['attributes'], {
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.id': 'call_1',
    'gen_ai.tool.call.arguments': { q: 'x' },
    'gen_ai.tool.call.result': { found: 2 },
  })
  t.equal(standard['input_preview'], '{"q":"x"}')
  t.equal(standard['output_preview'], '{"found":2}')
  const older = tool({
    'traceloop.span.kind': 'tool',
    'traceloop.entity.name': 'find',
    'traceloop.entity.input': '{"q":"x"}',
    'traceloop.entity.output': 'two',
  })
  t.match(older['attributes'], {
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.arguments': { q: 'x' },
    'gen_ai.tool.call.result': 'two',
  })
  for (const [args, result] of [
    ['tool_arguments', 'tool_response'],
    ['gcp.vertex.agent.tool_call_args', 'gcp.vertex.agent.tool_response'],
  ] as const) {
    const given = { 'gen_ai.tool.name': 'find', [args]: '{"q":"x"}', [result]: 'two' }
    t.match(tool(given)['attributes'], {
      'gen_ai.tool.call.arguments': { q: 'x' },
      'gen_ai.tool.call.result': 'two',
    })
  }
  const told = tool({ 'gen_ai.operation.name': 'execute_tool' }, [
    { name: 'gen_ai.tool.message', attributes: { content: '{"q":"x"}', id: 'call_1' } },
    { name: 'gen_ai.choice', attributes: { message: 'two', id: 'call_1' } },
  ])
  t.match(told['attributes'], {
    'gen_ai.tool.name': 'search',
    'gen_ai.tool.call.arguments': { q: 'x' },
    'gen_ai.tool.call.result': 'two',
  })
  t.end()
})

t.test('what an agent was asked and answered is shown, and is no call', (t) => {
  const { mapped } = read({
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'planner',
      'gen_ai.conversation.id': 'conv-1',
      ...asJson(STRUCTURED),
    },
    events: EVENTS,
  })
  t.equal(mapped.call, null)
  t.equal(mapped.span['output_preview'], 'It rains.')
  t.match(mapped.span['attributes'], {
    'session.id': 'conv-1',
    'gen_ai.agent.name': 'planner',
    'gen_ai.input.messages': /Paris/,
  })
  t.equal(((mapped.span['attributes'] as Members)['events'] as []).length, EVENTS.length)
  t.end()
})

t.test('of several answers the first is the output, and the others stay', (t) => {
  const answer = (content: string) => ({
    role: 'assistant',
    parts: [{ type: 'text', content }],
    finish_reason: 'stop',
  })
  const structured = read({
    attributes: { ...CHAT, 'gen_ai.output.messages': [answer('one'), answer('two')] },
  }).mapped
  t.match(structured.call, { output: { content: 'one' }, finish_reason: 'stop' })
  t.match(structured.span['attributes'], { 'gen_ai.output.messages': [answer('two')] })
  const choice = (content: string) => ({ name: 'gen_ai.choice', attributes: { content } })
  const told = read({ attributes: CHAT, events: [choice('one'), choice('two')] }).mapped
  t.match(told.call, { output: { content: 'one' } })
  t.match(told.span['attributes'], { events: [choice('two')] })
  t.end()
})

t.test('what the conventions do not tell is taken from other dialects', (t) => {
  const { mapped } = read({
    attributes: {
      ...CHAT,
      ...asJson(STRUCTURED),
      'openinference.span.kind': 'CHAIN',
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'another',
      'langfuse.observation.input': '[{"role":"user","content":"another"}]',
      'langfuse.observation.usage_details': '{"input":3,"output":2}',
      'langfuse.observation.model.parameters': '{"temperature":0,"max_tokens":9}',
    },
  })
  t.equal(mapped.span['span_type'], 'llm')
  t.match(mapped.call, {
    ...CONVERSATION,
    model_name: 'm',
    input_tokens: 3,
    temperature: 0,
    max_output_tokens: 9,
  })
  t.end()
})

t.test('tokens that one dialect alone counts are counted', (t) => {
  const { mapped } = read({
    attributes: {
      ...CHAT,
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.usage.inputTokens': 60,
      'ai.usage.outputTokens': 85,
      'ai.usage.totalTokens': 147,
      'ai.usage.cachedInputTokens': 12,
      'ai.usage.reasoningTokens': 64,
      'gen_ai.usage.input_tokens': 62,
      'gen_ai.usage.output_tokens': 85,
      'gen_ai.usage.cache_creation_input_tokens': 3,
    },
  })
  t.strictSame(mapped.call?.['usage'], {
    prompt_tokens: 62,
    completion_tokens: 85,
    total_tokens: 147,
    prompt_tokens_details: { cached_tokens: 12, cache_creation_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 64 },
  })
  t.end()
})

t.test('more messages than a call may have stay an attribute and are a loss', (t) => {
  const messages = Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'Hi' }))
  const attributes = { ...CHAT, 'gen_ai.input.messages': JSON.stringify(messages) }
  const { mapped, losses } = read({ attributes })
  t.notOk(mapped.call?.['rendered_input'])
  t.match(mapped.span['attributes'], { 'gen_ai.input.messages': { length: 10_001 } })
  const message = 'gen_ai.input.messages must hold at most 10000 items'
  t.match(losses, [{ code: 'member_invalid', message }])
  t.end()
})

t.test('what is no conversation stays an attribute and is a loss', (t) => {
  const { mapped, losses } = read({ attributes: { ...CHAT, 'gen_ai.input.messages': [1, 2] } })
  t.notOk(mapped.call?.['rendered_input'])
  t.match(mapped.span['attributes'], { 'gen_ai.input.messages': [1, 2] })
  t.match(losses, [{ code: 'member_invalid', message: 'gen_ai.input.messages holds no messages' }])
  t.end()
})

t.test('the result of an evaluation is a score of its span', (t) => {
  const result = (attributes: Members) => ({ name: 'gen_ai.evaluation.result', attributes })
  const { scores, losses } = read({
    attributes: CHAT,
    events: [
      result({
        'gen_ai.evaluation.name': 'Relevance',
        'gen_ai.evaluation.score.value': 0.75,
        'gen_ai.evaluation.score.label': 'relevant',
        'gen_ai.evaluation.explanation': 'to the point',
      }),
      result({ 'gen_ai.evaluation.score.value': 1 }),
    ],
  })
  t.match(scores, [
    {
      name: 'Relevance',
      value: 0.75,
      label: 'relevant',
      reason: 'to the point',
      source: 'external',
      source_label: 'opentelemetry',
      span_id: 'b7ad6b7169203331',
    },
  ])
  t.equal(scores.length, 1)
  t.match(losses, [{ code: 'member_invalid' }])
  t.end()
})

t.test('a whole request and its answer say all of the call', (t) => {
  const tool = { type: 'function', function: { name: 'look' } }
  const messages = [{ role: 'user', content: 'hi' }]
  const request = { model: 'm', temperature: 0.5, messages, tools: [tool], seed: 7 }
  const message = { role: 'assistant', content: 'yo' }
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  const answer = { id: 'r', model: 'm-2', usage, choices: [{ message, finish_reason: 'stop' }] }
  const { mapped, losses } = read({
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.prompt': JSON.stringify(request),
      'gen_ai.completion': JSON.stringify(answer),
      'gen_ai.usage.input_tokens': 5,
    },
  })
  t.match(mapped.call, {
    model_name: 'm-2',
    temperature: 0.5,
    rendered_input: messages,
    tools: [tool],
    finish_reason: 'stop',
    input_tokens: 5,
    output_tokens: 4,
  })
  t.same(mapped.call?.['output'], message)
  t.match(mapped.span['attributes'], {
    'gen_ai.prompt': { model: 'm', seed: 7 },
    'gen_ai.completion': { id: 'r' },
  })
  t.same(losses, [])
  t.end()
})

t.test('what the Agent Development Kit of Google says is read', (t) => {
  const request = {
    model: 'gemini-2',
    config: { system_instruction: 'be kind' },
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  }
  const adk = (llm_request: object, llm_response: object) =>
    read({
      attributes: {
        'gen_ai.request.model': 'gemini-2',
        'gcp.vertex.agent.session_id': 's1',
        'gcp.vertex.agent.llm_request': JSON.stringify(llm_request),
        'gcp.vertex.agent.llm_response': JSON.stringify(llm_response),
      },
    })
  const { mapped, losses } = adk(request, { content: { role: 'model', parts: [{ text: 'yo' }] } })
  t.same(mapped.call?.['rendered_input'], [
    { role: 'system', content: 'be kind' },
    { role: 'user', content: 'hi' },
  ])
  t.same(mapped.call?.['output'], { role: 'assistant', content: 'yo' })
  t.match(mapped.span['attributes'], { 'session.id': 's1' })
  t.same(losses, [])
  t.same(adk({}, {}).losses, [], 'where it was told not to say what was said')
  t.end()
})

t.test('results of one name on one span are scores of their own', (t) => {
  const result = (value: number, timeUnixNano: string) => ({
    name: 'gen_ai.evaluation.result',
    timeUnixNano,
    attributes: { 'gen_ai.evaluation.name': 'tone', 'gen_ai.evaluation.score.value': value },
  })
  const identifiersOf = (events: Members[]) =>
    read({ attributes: CHAT, events }).scores.map(({ identifier }) => identifier)
  const [first, second] = [result(1, '1795248803071000001'), result(1, '1795248803071000002')]
  const [one, two] = identifiersOf([first, second])
  t.not(one, two)
  t.same(identifiersOf([second, result(0, '1795248803071000002'), first]).at(-1), one)
  t.equal(new Set(identifiersOf([second, result(0, '1795248803071000002')])).size, 2)
  t.end()
})

t.test('attributes of any values are read without an error', (t) => {
  const names = [...Object.keys({ ...CHAT, ...STRUCTURED, ...NUMBERED }), ...MORE_NAMES]
  const value = fc.oneof(
    fc.jsonValue(),
    fc.json(),
    fc.constantFrom(STRUCTURED['gen_ai.input.messages'], CALLS, { toString: 1 }, '[{"role":1}]'),
  )
  const attributes = fc.dictionary(fc.constantFrom(...names), value as fc.Arbitrary<unknown>, {
    maxKeys: 12,
  })
  const events = fc.array(
    fc.record({
      name: fc.constantFrom(
        ...EVENTS.map(({ name }) => name),
        'gen_ai.client.inference.operation.details',
      ),
      attributes: fc.dictionary(
        fc.constantFrom('content', 'role', 'message', 'tool_calls', 'id', 'gen_ai.input.messages'),
        value as fc.Arbitrary<unknown>,
      ),
    }),
    { maxLength: 4 },
  )
  fc.assert(
    fc.property(attributes, events, (attributes, events) => {
      const { mapped } = read({ attributes, events })
      return JSON.stringify(mapped).length > 0 && typeof mapped.span['span_type'] === 'string'
    }),
    { numRuns: RUNS },
  )
  t.end()
})

function read(members: Members): TakenSpan {
  const [span] = spansOfRequest(requestOf([otlpSpan(members)]))
  if (!span || 'rejected' in span) throw new Error('a span is expected')
  return span
}

function asJson(attributes: Members): Members {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, JSON.stringify(value)]),
  )
}
