import t from 'tap'
import { describeFault } from '../../../../../jobs/rules/core/reader.ts'
import { openaiChat } from '../../../../../jobs/rules/import/chat/openai-chat.ts'
import { readRecord } from '../../../../../jobs/rules/import/read-record.ts'
import { toTraceRow } from '../../../../../jobs/rules/traces/trace-row.ts'
import { conversationOf } from '../../../../../jobs/rules/traces/conversation.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"id":7}' } }

function read(record: Record<string, unknown>) {
  const traceId = openaiChat.traceIdOf(record)
  const result = readRecord(record, openaiChat, { traceId, agentName: null, now: NOW })
  if ('faults' in result) throw new Error(result.faults.map(describeFault).join('; '))
  return result
}

function faultsOf(record: Record<string, unknown>) {
  const traceId = openaiChat.traceIdOf(record)
  const result = readRecord(record, openaiChat, { traceId, agentName: null, now: NOW })
  return 'faults' in result ? result.faults.map(describeFault) : []
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

  t.test('that call functions have the tool calls of today', async (t) => {
    const single = (name: string) => ({ name, arguments: '{"id":7}' })
    const { trace } = read({
      agent_name: 'a',
      functions: [{ name: 'look', parameters: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'What is seven?' },
        { role: 'assistant', content: null, function_call: single('look') },
        { role: 'function', name: 'look', content: 'a number' },
        { role: 'function', name: 'other', content: 'nobody asked' },
        { role: 'assistant', content: null, function_call: single('look'), weight: 0 },
      ],
    })
    const id = 'function_call_1'
    const call = (id: string) => ({ id, type: 'function', function: single('look') })
    t.same(conversationOf(trace), [
      { role: 'user', content: 'What is seven?' },
      { role: 'assistant', content: null, tool_calls: [call(id)] },
      { role: 'tool', name: 'look', content: 'a number', tool_call_id: id },
      { role: 'tool', name: 'other', content: 'nobody asked' },
      { role: 'assistant', content: null, tool_calls: [call('function_call_2')], weight: 0 },
    ])
    t.match(trace.llm_calls[0], {
      tools: [{ type: 'function', function: { name: 'look' } }],
      tool_calls: [
        { tool_name: 'look', args: { id: 7 }, result: 'a number' },
        { tool_name: 'look', result: null },
      ],
    })
  })

  t.test('keep refusals, parts, reasoning, weights and what nobody knows', async (t) => {
    const said = [
      { role: 'developer', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image_url', image_url: {} },
        ],
      },
      { role: 'assistant', content: 'Hello', weight: 0, mood: 'fine' },
      { role: 'user', content: 'Help!' },
      { role: 'assistant', content: null, refusal: 'No.', reasoning_content: 'May I?' },
    ]
    const { trace, losses } = read({ agent_name: 'a', messages: said })
    t.same(conversationOf(trace), said)
    t.equal(trace.final_output_preview, 'No.', 'a refusal is what the assistant put out')
    t.same(losses, [])
    const { trace: nested } = read({ agent_name: 'a', messages: said, output: { refusal: 'No.' } })
    t.same(conversationOf(nested).at(-1), said.at(-1), 'what is no message is no output')
  })

  t.test('that differ in a refusal or a weight are no duplicates', async (t) => {
    const hashOf = (turn: object) => {
      const { trace } = read({
        agent_name: 'a',
        messages: [{ role: 'assistant', content: 'Hm', ...turn }],
      })
      return toTraceRow(trace, 'shared').content_hash?.toString('hex')
    }
    const hashes = [{}, { refusal: 'No.' }, { refusal: 'Never.' }, { weight: 0 }].map(hashOf)
    t.equal(hashOf({ weight: false }), hashes[3])
    t.equal(new Set(hashes).size, 4)
    t.equal(hashOf({ weight: 1, refusal: null }), hashes[0])
  })

  t.test('keep what a request and an answer say besides, as long as it is small', async (t) => {
    const record = (extra: object) => ({
      agent_name: 'a',
      input: { messages: messages.slice(0, 2), tool_choice: 'auto', ...extra },
      output: {
        id: 'cmpl-1',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'a' }, logprobs: { content: [] } },
          { index: 1, message: { role: 'assistant', content: 'b' } },
        ],
      },
    })
    const { trace, losses } = read(record({}))
    t.same(losses, [])
    t.match(trace.metadata['import'], {
      input: { tool_choice: 'auto' },
      output: { id: 'cmpl-1', logprobs: {}, choices: [{ message: { content: 'b' } }] },
    })
    const large = read(record({ notes: 'x'.repeat(20_000) }))
    t.same(large.losses, ['members_dropped'])
    t.match(large.trace.metadata['import'], { warnings: [/^Members of input/] })
    const lost = read({ agent_name: 'a', messages, notes: 'x'.repeat(20_000) })
    t.same(lost.losses, ['members_dropped'])
    t.match(lost.trace.metadata['import'], { warnings: [/^notes were left out/] })
  })

  t.test('with a preference are two attempts at one task', async (t) => {
    const input = { messages: messages.slice(0, 2), tools: [] }
    const row = (preferred: string, other: string, more: object = {}) => ({
      agent_name: 'a',
      input,
      preferred_output: [{ role: 'assistant', content: preferred }],
      non_preferred_output: [{ role: 'assistant', content: other }],
      ...more,
    })
    const split = (record: Record<string, unknown>) => {
      const records = openaiChat.split?.(record) ?? []
      if ('code' in records) throw new Error(records.message)
      return records.map((each) => read(each))
    }
    const [good, bad] = split(row('A number.', 'A letter.', { scores: { fast: 1 } }))
    t.same(good && conversationOf(good.trace).at(-1)?.content, 'A number.')
    t.same(bad && conversationOf(bad.trace).at(-1)?.content, 'A letter.')
    t.equal(good?.trace.task_id, bad?.trace.task_id)
    t.match(good?.scores, [
      { name: 'fast' },
      {
        name: 'preference',
        value: 1,
        label: 'preferred',
        source: 'human',
        identifier: 'preference',
      },
    ])
    t.match(bad?.scores, [
      { name: 'fast' },
      { name: 'preference', value: 0, label: 'non_preferred' },
    ])
    t.same(good?.scores[1]?.metadata, bad?.scores[1]?.metadata)
    t.notOk(good?.trace.metadata['extra'], 'the answers are not kept twice')
    const [other] = split(row('A number.', 'A colour.'))
    t.equal(other?.trace.task_id, good?.trace.task_id)
    t.not(other?.trace.trace_id, good?.trace.trace_id)
    t.notSame(other?.scores.at(-1)?.metadata, good?.scores.at(-1)?.metadata)
    const task_id = good?.trace.task_id
    const named = split(row('x', 'y', { trace_id: 'own', task_id: 't', eval_scores: [] }))
    t.match(named, [
      { trace: { trace_id: 'own-preferred', task_id, metadata: { task_id: 't' } } },
      { trace: { trace_id: 'own-non_preferred', task_id, metadata: { task_id: 't' } } },
    ])
    const { input: _, ...flat } = row('A number.', 'A letter.')
    const [top, below] = split({ ...flat, messages: input.messages })
    t.same(top && conversationOf(top.trace), good && conversationOf(good.trace))
    t.same(below && conversationOf(below.trace), bad && conversationOf(bad.trace))
    t.equal(top?.trace.task_id, below?.trace.task_id)
    t.notOk(top?.trace.metadata['extra'])
  })

  t.test('with a preference have two ids, however long their own is', async (t) => {
    const sides = (trace_id: string) => {
      const answers = { preferred_output: 'a', non_preferred_output: 'b' }
      const split = openaiChat.split?.({ input: { messages }, trace_id, ...answers }) ?? []
      return 'code' in split ? [] : split.map((each) => String(each['trace_id']))
    }
    t.same(sides('x'.repeat(114)).at(1), `${'x'.repeat(114)}-non_preferred`)
    for (const length of [115, 128]) {
      const ids = sides('x'.repeat(length))
      t.match(ids, [/^preference-\w{32}-preferred$/, /^preference-\w{32}-non_preferred$/])
      t.not(ids[0], sides('y'.repeat(length))[0])
    }
    t.ok((sides('x'.repeat(129))[0] ?? '').length > 128, 'what is no id is not made one')
  })

  t.test('with null for a preference have none', async (t) => {
    const record = { messages, preferred_output: null, non_preferred_output: null }
    t.same(openaiChat.split?.(record), [record])
    const half = { ...record, preferred_output: 'x' }
    t.match(openaiChat.split?.(half), { code: 'invalid_record' })
  })

  t.test('whose output is a list of messages hold all of them', async (t) => {
    const [question, output] = [messages.slice(0, 2), messages.slice(2)]
    const { trace, losses } = read({ agent_name: 'a', input: { messages: question }, output })
    t.same(conversationOf(trace), messages)
    t.same(losses, [])
    t.notOk(trace.metadata['extra'])
    const flat = read({ agent_name: 'a', messages: question, output: [{ content: 'A number.' }] })
    t.same(conversationOf(flat.trace).at(-1), { role: 'assistant', content: 'A number.' })
    t.not(
      openaiChat.traceIdOf({ messages: question, output }),
      openaiChat.traceIdOf({ messages: question, output: output.slice(1) }),
    )
    const other = read({ agent_name: 'a', messages, output: [{ score: 1 }] })
    t.same(other.trace.metadata['extra'], { output: [{ score: 1 }] }, 'other lists are kept')
  })
})
