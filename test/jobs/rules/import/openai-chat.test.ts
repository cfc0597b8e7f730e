import t from 'tap'
import { openaiChat } from '../../../../jobs/rules/import/openai-chat.ts'
import { readRecord } from '../../../../jobs/rules/import/read-record.ts'
import { conversationOf } from '../../../../jobs/rules/traces/conversation.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"id":7}' } }

function read(record: Record<string, unknown>) {
  const traceId = openaiChat.traceIdOf(record)
  const result = readRecord(record, openaiChat, { traceId, agentName: null, now: NOW })
  if ('faults' in result) throw new Error(result.faults.map(({ message }) => message).join('; '))
  return result
}

function faultsOf(record: Record<string, unknown>) {
  const traceId = openaiChat.traceIdOf(record)
  const result = readRecord(record, openaiChat, { traceId, agentName: null, now: NOW })
  return 'faults' in result ? result.faults.map(({ message }) => message) : []
}

t.test('OpenAI chat lines', async (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is seven?' },
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c1', content: 'a number' },
    { role: 'assistant', content: 'A number.' },
  ]

  t.test('become one LLM call whose output is the last message', async (t) => {
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const { trace } = read({ agent_name: 'a', messages, tools })
    t.equal(trace.llm_calls.length, 1)
    const [call] = trace.llm_calls
    t.same(call?.rendered_input, messages.slice(0, -1))
    t.same(call?.output, messages.at(-1))
    t.same(call?.tools, tools)
    t.same(conversationOf(trace), messages)
    t.match(trace, {
      source_type: 'imported',
      user_input_preview: 'What is seven?',
      final_output_preview: 'A number.',
      started_at: NOW,
      metadata: { import: { source: 'openai_chat' } },
    })
  })

  t.test('that end with another message have no output', async (t) => {
    const { trace } = read({ agent_name: 'a', messages: messages.slice(0, 4) })
    t.same(trace.llm_calls[0]?.rendered_input, messages.slice(0, 4))
    t.same(trace.llm_calls[0]?.output, {})
  })

  t.test('have every call with its result', async (t) => {
    const call = (id: string | undefined, name: string) => ({
      ...(id && { id }),
      type: 'function',
      function: { name, arguments: '{' },
    })
    const { trace } = read({
      agent_name: 'a',
      messages: [
        { role: 'assistant', tool_calls: [call('1', 'one'), call('2', 'two')] },
        { role: 'tool', tool_call_id: '2', content: 'second' },
        { role: 'tool', tool_call_id: '1', content: 'first', is_error: true },
        { role: 'assistant', tool_calls: [call('1', 'again'), call(undefined, 'nameless')] },
        { role: 'tool', content: 'Error: but only a text says so' },
        { role: 'tool', content: 'in turn', status: 'error' },
        { role: 'assistant', tool_calls: [call('9', 'open')] },
      ],
    })
    t.same(
      trace.llm_calls[0]?.tool_calls.map(({ tool_name, result, status }) => [
        tool_name,
        result,
        status,
      ]),
      [
        ['one', 'first', 'error'],
        ['two', 'second', 'success'],
        ['again', 'Error: but only a text says so', 'success'],
        ['nameless', 'in turn', 'error'],
        ['open', null, 'success'],
      ],
    )
    t.same(trace.llm_calls[0]?.tool_calls[0]?.args, '{', 'arguments that are no JSON stay text')
  })

  t.test('take over what a trace has', async (t) => {
    const { trace, scores } = read({
      trace_id: 'mine',
      agent_name: 'a',
      task_id: 12,
      session_id: 's',
      manifest_hash: 'abc',
      status: 'error',
      started_at: '2026-01-01T00:00:00Z',
      duration_ms: 1500,
      model: 'small-1',
      temperature: 0.2,
      max_tokens: 100,
      usage: { prompt_tokens: 10, completion_tokens: 3 },
      cost_usd: 0.5,
      tags: ['x'],
      metadata: { region: 'eu' },
      scores: { helpful: 0.5, done: true },
      split: 'train',
      messages,
    })
    t.match(trace, {
      trace_id: 'mine',
      task_id: '12',
      session_id: 's',
      manifest_hash: 'abc',
      status: 'error',
      ended_at: new Date('2026-01-01T00:00:01.500Z'),
      tags: ['x'],
      metadata: { region: 'eu', extra: { split: 'train' }, import: { source: 'openai_chat' } },
    })
    t.match(trace.llm_calls[0], {
      model_name: 'small-1',
      temperature: 0.2,
      max_output_tokens: 100,
      input_tokens: 10,
      output_tokens: 3,
      cost_usd: 0.5,
    })
    t.notOk('messages' in (trace.metadata['extra'] as object))
    t.match(scores, [
      { name: 'helpful', value: 0.5, source: 'custom' },
      { name: 'done', value: 1, data_type: 'boolean' },
    ])
  })

  t.test('may be request and answer of a call', async (t) => {
    const answer = { role: 'assistant', content: 'seven' }
    const completion = {
      choices: [{ message: answer, finish_reason: 'stop' }],
      usage: { prompt_tokens: 4, completion_tokens: 1 },
    }
    for (const output of [answer, completion, 'seven']) {
      const { trace } = read({
        agent_name: 'a',
        input: { messages: messages.slice(0, 2), model: 'small-1' },
        output,
        tags: { prompt: 'v1', run: 3 },
      })
      t.same(conversationOf(trace), [...messages.slice(0, 2), answer])
      t.equal(trace.llm_calls[0]?.model_name, 'small-1')
      t.same(trace.tags, ['prompt:v1', 'run:3'])
      if (output === completion)
        t.match(trace.llm_calls[0], { finish_reason: 'stop', input_tokens: 4 })
    }
  })

  t.test('without an id have one that their conversation decides', async (t) => {
    const id = openaiChat.traceIdOf({ messages, agent_name: 'a' })
    t.match(id, /^chat-[0-9a-f]{32}$/)
    t.equal(openaiChat.traceIdOf({ messages, agent_name: 'b' }), id)
    t.not(openaiChat.traceIdOf({ messages: messages.slice(1) }), id)
    t.equal(openaiChat.traceIdOf({ id: 'own', messages }), 'own')
  })

  t.test('that are wrong are refused by the names their members have there', async (t) => {
    t.same(faultsOf({ agent_name: 'a', messages: 'hello' }), ['messages must be a list'])
    t.same(faultsOf({ agent_name: 'a', messages: [{ role: 'user' }, 'x'] }), [
      'messages.1 must be a message with a role',
    ])
    t.same(faultsOf({ agent_name: 'a', messages: [], tools: {} }), ['tools must be a list'])
    t.same(faultsOf({ agent_name: 'a', messages: [], metadata: 'x' }), [
      'metadata must be an object',
    ])
    t.same(faultsOf({ agent_name: 'a', messages: [], trace_id: {} }), [
      'trace_id must be 1 to 128 printable characters',
    ])
  })
})
