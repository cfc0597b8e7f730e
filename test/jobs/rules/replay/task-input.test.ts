import t from 'tap'
import { makeTaskInput, MAX_INPUT_BYTES } from '../../../../jobs/rules/replay/task-input.ts'
import type { TaskInput } from '../../../../jobs/rules/replay/task-input.ts'
import fc from '../../../support/property.ts'
import { recorded } from '../../../support/recorded-trace.ts'

const target = { manifest_id: 'm', manifest_hash: 'sha256:0', version_label: 'v2' }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const system = { role: 'system', content: 'Help.' }
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

t.test('an input has all that a runner needs to ask the agent again', async (t) => {
  const trace = recorded({
    session_id: 's1',
    turn_index: 2,
    llm_calls: [
      {
        rendered_input: [system, user('Where is order 42?')],
        tool_calls: [{ tool_name: 'find_order', args: { id: 42 }, result: { state: 'sent' } }],
      },
      {
        rendered_input: [system, user('Where is order 42?'), assistant('Sent.'), user('Thanks')],
        tool_calls: [{ tool_name: 'close', args: '{"id":42}', status: 'error' }],
        output: { content: 'You are welcome.' },
      },
    ],
  })
  t.same(makeTaskInput(trace, target), {
    user_input: 'Where is order 42?',
    agent_name: 'agent',
    session_id: 's1',
    turn_index: 2,
    messages: [system, user('Where is order 42?')],
    user_turns: [user('Where is order 42?'), user('Thanks')],
    tool_results: [
      { tool_name: 'find_order', args: { id: 42 }, result: { state: 'sent' }, status: 'success' },
      {
        tool_name: 'close',
        args: trace.llm_calls[1]?.tool_calls[0]?.args,
        result: null,
        status: 'error',
      },
    ],
    original_output: 'You are welcome.',
    target_manifest: target,
  })
})

t.test('a later turn of a session is asked with the turns before it', async (t) => {
  const before = [system, user('Hello'), assistant('Hi')]
  const rendered_input = [...before, user('Where is order 42?')]
  const trace = recorded({
    user_input_preview: 'Where is order 42?',
    llm_calls: [{ rendered_input, output: { content: 'Sent.' } }],
  })
  const input = makeTaskInput(trace, target)
  t.equal(input.user_input, 'Where is order 42?')
  t.same(input.messages, rendered_input)
  t.same(input.user_turns, [user('Where is order 42?')])
})

t.test('what the user asked is whole where the preview has only its beginning', async (t) => {
  const long = 'Where is it? '.repeat(1000)
  const parts = [{ type: 'text', text: long }]
  const trace = recorded({ llm_calls: [{ rendered_input: [user(parts)] }] })
  t.equal(makeTaskInput(trace, null).user_input, long)
  t.same(makeTaskInput(trace, null).messages, [user(parts)])
})

t.test('a trace without LLM calls is asked by its preview', async (t) => {
  const trace = recorded({ user_input_preview: 'Hello', final_output_preview: 'Hi' })
  t.match(makeTaskInput(trace, null), {
    user_input: 'Hello',
    messages: [user('Hello')],
    user_turns: [user('Hello')],
    tool_results: [],
    original_output: 'Hi',
    target_manifest: null,
  })
})

t.test('what sub-agents and judges were told is left out', async (t) => {
  const other = [user('You are a judge'), user('Another'), user('A third')]
  const trace = recorded({
    llm_calls: [
      { rendered_input: [user('Hello')], output: { content: 'Hi' } },
      { call_role: 'judge', rendered_input: other, output: { content: '5' } },
    ],
  })
  t.match(makeTaskInput(trace, null), { user_turns: [user('Hello')], original_output: 'Hi' })
})

t.test('texts are cut no more than the room asks for, and what was asked last', async (t) => {
  const result = 'r'.repeat(3 << 20)
  const trace = recorded({
    llm_calls: [
      {
        rendered_input: [user('u'.repeat(300_000))],
        tool_calls: [
          { tool_name: 'read', args: {}, result },
          { tool_name: 'read', args: {}, result: 'short' },
        ],
      },
    ],
  })
  const input = makeTaskInput(trace, target)
  t.equal(input.truncated, true)
  t.equal(input.user_input?.length, 300_000)
  t.equal(input.tool_results.length, 2)
  t.equal(input.tool_results[1]?.result, 'short')
  const bytes = bytesOf(input)
  t.ok(bytes <= MAX_INPUT_BYTES && bytes > MAX_INPUT_BYTES / 2, `${bytes} bytes`)
})

t.test('of lists that are too long the items next to the request stay', async (t) => {
  const turns = Array.from({ length: 9000 }, (_, i) => user(`${i} ${'x'.repeat(300)}`))
  const trace = recorded({ llm_calls: [{ rendered_input: turns }] })
  const input = makeTaskInput(trace, target)
  t.equal(input.truncated, true)
  t.same(input.messages, turns.slice(0, 1))
  t.ok(input.user_turns.length > 500)
  t.same(input.user_turns, turns.slice(0, input.user_turns.length))
  t.ok(bytesOf(input) <= MAX_INPUT_BYTES)
})

t.test('an input never passes its bound, and one that is small is whole', async (t) => {
  const text = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.tuple(fc.constantFrom('x', '\u{1f600}', '\n', 'é'), fc.nat({ max: 200_000 })).map(repeat),
  )
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ depthSize: 'small' }, text, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('any'), { maxLength: 5 }),
    object: fc.dictionary(text, tie('any'), { maxKeys: 5 }),
  })).any
  const call = fc.record({
    rendered_input: fc.array(fc.record({ role: fc.constantFrom('user', 'system'), content: text })),
    tool_calls: fc.array(fc.record({ tool_name: fc.constant('t'), args: value, result: value })),
    output: fc.record({ content: text }),
  })
  const max = 128 << 10
  fc.assert(
    fc.property(fc.array(call, { maxLength: 3 }), (llm_calls) => {
      const trace = recorded({ llm_calls })
      const whole = makeTaskInput(trace, target, Number.MAX_SAFE_INTEGER)
      const input: TaskInput = makeTaskInput(trace, target, max)
      t.equal(whole.truncated, undefined)
      if (input.truncated) return bytesOf(input) <= max && bytesOf(whole) > max - 20
      return bytesOf(input) <= max && JSON.stringify(input) === JSON.stringify(whole)
    }),
    { numRuns: 25 },
  )
})

function repeat([text, times]: [string, number]) {
  return text.repeat(times)
}
