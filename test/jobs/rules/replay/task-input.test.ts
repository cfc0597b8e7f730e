import t from 'tap'
import { makeTaskInput, MAX_INPUT_BYTES } from '../../../../jobs/rules/replay/task-input.ts'
import type { TargetManifest, TaskInput } from '../../../../jobs/rules/replay/task-input.ts'
import type { RecordedTrace } from '../../../../jobs/rules/replay/recorded-run.ts'
import fc from '../../../support/property.ts'
import { recorded } from '../../../support/recorded-trace.ts'

const target = { manifest_id: 'm', manifest_hash: 'sha256:0', version_label: 'v2' }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const system = { role: 'system', content: 'Help.' }
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Without turns for others. */
const inputOf = (trace: RecordedTrace, target: TargetManifest | null, maxBytes?: number) =>
  makeTaskInput(trace, target, async () => undefined, maxBytes)

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
  t.same(await inputOf(trace, target), {
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
  const input = await inputOf(trace, target)
  t.equal(input.user_input, 'Where is order 42?')
  t.same(input.messages, rendered_input)
  t.same(input.user_turns, [user('Where is order 42?')])
})

t.test('what the user asked is whole where the preview has only its beginning', async (t) => {
  const long = 'Where is it? '.repeat(1000)
  const parts = [{ type: 'text', text: long }]
  const trace = recorded({ llm_calls: [{ rendered_input: [user(parts)] }] })
  t.equal((await inputOf(trace, null)).user_input, long)
  t.same((await inputOf(trace, null)).messages, [user(parts)])
})

t.test('a trace without LLM calls is asked by its preview', async (t) => {
  const trace = recorded({ user_input_preview: 'Hello', final_output_preview: 'Hi' })
  t.match(await inputOf(trace, null), {
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
  t.match(await inputOf(trace, null), { user_turns: [user('Hello')], original_output: 'Hi' })
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
  const input = await inputOf(trace, target)
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
  const input = await inputOf(trace, target)
  t.equal(input.truncated, true)
  t.same(input.messages, turns.slice(0, 1))
  t.ok(input.user_turns.length > 500)
  t.same(input.user_turns, turns.slice(0, input.user_turns.length))
  t.ok(bytesOf(input) <= MAX_INPUT_BYTES)
})

t.test('a list has the room that the others leave', async (t) => {
  const results = Array.from({ length: 1600 }, () => 'r'.repeat(1000))
  const llm_calls = toolCalls(results)
  const input = await inputOf(recorded({ llm_calls }), target)
  t.equal(input.truncated, true)
  t.ok(bytesOf(input) <= MAX_INPUT_BYTES)
  t.ok(bytesOf(input.tool_results) > MAX_INPUT_BYTES * 0.99)

  const messages = Array.from({ length: 3000 }, () => assistant('m'.repeat(1000)))
  const [first, ...others] = llm_calls
  const both = [{ ...first, rendered_input: [...messages, user('Hello')] }, ...others]
  const shared = await inputOf(recorded({ user_input_preview: 'Hello', llm_calls: both }), target)
  t.same(shared.messages.at(-1), user('Hello'))
  const share = MAX_INPUT_BYTES / 2
  for (const list of [shared.messages, shared.tool_results]) {
    t.ok(bytesOf(list) > share * 0.99 && bytesOf(list) < share * 1.01, `${bytesOf(list)} bytes`)
  }
})

t.test('of what there is no room for little is looked at, and others have turns', async (t) => {
  const results = Array.from({ length: 10_000 }, () => 'r'.repeat(3000))
  const trace = recorded({ llm_calls: toolCalls(results) })
  const late = trace.llm_calls[50]?.tool_calls[0]
  const result = Object.defineProperty({}, 'text', { enumerable: true, get: t.fail })
  if (late) Object.assign(late, { result })
  let turns = 0
  const input = await makeTaskInput(trace, target, async () => void turns++)
  t.ok(input.tool_results.length > 900, `${input.tool_results.length} results`)
  t.ok(turns > 1000, `${turns} turns`)
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
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 3 }), async (llm_calls) => {
      const trace = recorded({ llm_calls })
      const whole = await inputOf(trace, target, Number.MAX_SAFE_INTEGER)
      const input: TaskInput = await inputOf(trace, target, max)
      t.equal(whole.truncated, undefined)
      if (input.truncated) return bytesOf(input) <= max && bytesOf(whole) > max - 20
      return bytesOf(input) <= max && JSON.stringify(input) === JSON.stringify(whole)
    }),
    { numRuns: 25 },
  )
})

/** LLM calls with a hundred tool calls each. */
function toolCalls(results: readonly string[]) {
  const calls = results.map((result) => ({ tool_name: 'read', args: {}, result }))
  const places = Array.from({ length: calls.length / 100 }, (_, i) => i * 100)
  return places.map((from) => ({
    rendered_input: from === 0 ? [user('Hello')] : [],
    tool_calls: calls.slice(from, from + 100),
  }))
}

function repeat([text, times]: [string, number]) {
  return text.repeat(times)
}
