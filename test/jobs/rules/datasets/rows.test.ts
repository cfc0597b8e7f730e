import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import t from 'tap'
import { trainingJson } from '../../../../jobs/rules/core/training-json.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import type { Options } from '../../../../jobs/rules/datasets/recipe.ts'
import { provenanceText } from '../../../../jobs/rules/datasets/provenance.ts'
import { openRowMaker } from '../../../../jobs/rules/datasets/rows.ts'
import type { Row } from '../../../../jobs/rules/datasets/row-writer.ts'
import fc from '../../../support/property.ts'
import {
  assistant,
  calling,
  candidate,
  contentOf,
  make,
  result,
  tool,
  user,
} from '../../../support/training-rows.ts'
import type { Call, Training, TrainedMessage } from '../../../support/training-rows.ts'

t.test('a conversation becomes a row of messages with weights and renumbered calls', async (t) => {
  const conversation = [
    { role: 'developer', content: 'Be brief.' },
    user([
      { type: 'text', text: 'Where is ' },
      { type: 'text', text: 'it?' },
    ]),
    calling('find', '{"order": 7}'),
    result('shipped'),
    assistant(),
  ]
  t.same(make(contentOf({ rendered_input: conversation })), [
    {
      messages: [
        { role: 'developer', content: 'Be brief.', weight: 0 },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where is ' },
            { type: 'text', text: 'it?' },
          ],
          weight: 0,
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'find', arguments: '{"order": 7}' },
            },
          ],
          weight: 1,
        },
        { role: 'tool', content: 'shipped', name: 'find', tool_call_id: 'call_1', weight: 0 },
        { role: 'assistant', content: 'On its way.', weight: 1 },
      ],
      tools: [tool('find', { type: 'object' })],
    },
  ])
})

t.test('what follows the last turn of the assistant is left out', async (t) => {
  const said = [user(), assistant()]
  for (const after of [
    [],
    [user('Thanks, bye')],
    [user('bye'), assistant('')],
    [user(), assistant(null)],
  ]) {
    const [row] = make(contentOf({ rendered_input: [...said, ...after] })) as [Training]
    t.same(
      row.messages?.map(({ role }) => role),
      ['user', 'assistant'],
    )
  }
  const [row] = make(contentOf({ rendered_input: [user(), calling('f', {}), result('x')] })) as [
    Training,
  ]
  t.equal(row.messages?.at(-1)?.role, 'assistant', 'a call nobody answered may be learned')
})

t.test('every fault of a conversation has its reason', async (t) => {
  const find = tool('find', {
    type: 'object',
    required: ['order'],
    properties: { order: { type: 'integer' } },
  })
  const strict = tool('find', { type: 'object', properties: {}, additionalProperties: false })
  const cases: [string, object[], object[]?][] = [
    ['invalid.no_assistant', [user()]],
    ['invalid.no_assistant', []],
    ['invalid.start', [assistant(), user(), assistant()]],
    ['invalid.start', [calling('f', {}), result('x'), assistant()]],
    ['invalid.role', [user(), { role: 'oracle', content: 'x' }, assistant()]],
    ['invalid.role', [user(), { role: 'constructor', content: 'x' }, assistant()]],
    ['invalid.content', [user([{ type: 'text' }]), assistant()]],
    ['invalid.content', [user([7]), assistant()]],
    ['invalid.content', [user({ text: 'x' }), assistant()]],
    ['invalid.tool_message', [user(), result('x'), assistant()]],
    ['invalid.tool_message', [user(), calling('f', {}), result('x'), result('again'), assistant()]],
    ['invalid.tool_message', [user(), calling('f', {}), result('x', 'other'), assistant()]],
    ['invalid.arguments', [user(), calling('f', '{"a": '), result('x'), assistant()]],
    ['invalid.arguments', [user(), calling('f', '[1]'), result('x'), assistant()]],
    ['invalid.arguments', [user(), calling('f', '{"a": 1e999}'), result('x'), assistant()]],
    ['invalid.arguments', [user(), calling('find', '{}'), result('x'), assistant()], [find]],
    [
      'invalid.arguments',
      [user(), calling('find', '{"order": "7"}'), result('x'), assistant()],
      [find],
    ],
    [
      'invalid.arguments',
      [user(), calling('find', '{"a": 1}'), result('x'), assistant()],
      [strict],
    ],
    ['invalid.tool_undeclared', [user(), calling('other', {}), result('x'), assistant()], [find]],
    ['invalid.text', [user('a\0b'), assistant()]],
    ['invalid.text', [user('half of \ud83d'), assistant()]],
    ['too_long', [user('x'.repeat(5 << 20)), assistant()]],
  ]
  for (const [reason, rendered_input, tools = []] of cases) {
    t.same(
      make(contentOf({ rendered_input, tools } as Call)),
      [reason],
      JSON.stringify(rendered_input).slice(0, 99),
    )
  }
  t.same(make(contentOf({ rendered_input: [user(), assistant()] }), { max_tokens: 10 }), [
    'too_long',
  ])
})

t.test('arguments nested too deeply are refused without a stack overflow', async (t) => {
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
  t.same(make(contentOf({ rendered_input: [user(), calling('f', deep), assistant()] })), [
    'invalid.arguments',
  ])
})

t.test('a text that speaks of NUL is not one that holds it', async (t) => {
  const [row] = make(
    contentOf({ rendered_input: [user('write \\u0000 or \\ud83d'), assistant()] }),
  ) as [Training]
  t.equal(row.messages?.[0]?.content, 'write \\u0000 or \\ud83d')
})

t.test('a tool message without an id answers the first call that waits', async (t) => {
  const two = {
    ...calling('f', {}),
    tool_calls: [...calling('f', {}, 'a').tool_calls, ...calling('g', {}, 'b').tool_calls],
  }
  const answers = [
    { role: 'tool', name: 'g', content: '2' },
    { role: 'tool', content: '1' },
  ]
  const [row] = make(contentOf({ rendered_input: [user(), two, ...answers, assistant()] })) as [
    Training,
  ]
  t.same(
    row.messages?.slice(2, 4).map((m) => [m.name, m.tool_call_id]),
    [
      ['g', 'call_2'],
      ['f', 'call_1'],
    ],
  )
})

t.test('an id may be used again once its call is answered', async (t) => {
  const twice = [calling('f', {}), result('1'), calling('f', {}), result('2')]
  const [row] = make(contentOf({ rendered_input: [user(), ...twice, assistant()] })) as [Training]
  t.same(row.messages?.map((m) => m.tool_call_id).filter(Boolean), ['call_1', 'call_2'])
})

t.test('declared tools stand in the row as they were declared, in every dialect', async (t) => {
  const tools = [
    {
      type: 'function',
      function: { name: 'a', description: 'A', parameters: { type: 'object' }, strict: true },
    },
    { type: 'function', name: 'b', parameters: { type: 'object' } },
    { name: 'c', input_schema: { type: 'object' } },
    { type: 'web_search' },
  ]
  const calls = [
    { rendered_input: [user(), assistant()], tools },
    { rendered_input: [user()], tools: [tools[1]] },
  ]
  const [row] = make(contentOf(...(calls as Call[]))) as [Training]
  t.same(row.tools, [tools[0], tool('b', { type: 'object' }), tool('c', { type: 'object' })])
})

t.test('one row a call trains the last turn of each', async (t) => {
  const first = { rendered_input: [user()], output: { content: 'Which order?' } }
  const second = {
    rendered_input: [user(), assistant('Which order?'), user('7')],
    output: { content: 'Shipped.' },
  }
  const rows = make(contentOf(first, second), { rows: 'call' }) as Training[]
  t.same(
    rows.map((row) => row.messages?.map(({ weight }) => weight)),
    [
      [0, 1],
      [0, 0, 0, 1],
    ],
  )
  t.same(make(contentOf(), { rows: 'call' }), ['no_llm_call'])
})

t.test('previews stand for a trace without calls only when they are whole', async (t) => {
  const content = (output: string) => ({
    llm_calls: [],
    user_input_preview: 'Hi',
    final_output_preview: output,
    corrected_output: null,
  })
  const [row] = make(content('Hello')) as [Training]
  t.same(
    row.messages?.map((m) => m.content),
    ['Hi', 'Hello'],
  )
  t.same(make(content('x'.repeat(2000))), ['invalid.preview_cut'])
})

t.test('steps that failed are masked in a trace to repair', async (t) => {
  const repair = { verdict: 'repair', reasons: ['step.masked'] } as const
  const failed = { id: 'abc', tool_name: 'f', status: 'error' }
  const rendered_input = [
    user(),
    calling('f', {}),
    result('boom'),
    calling('f', {}, 'd'),
    result('ok', 'd'),
    assistant(),
  ]
  const content = contentOf({ rendered_input, tool_calls: [failed] } as unknown as Call)
  const weights = (rows: unknown[]) =>
    (rows as Training[])[0]?.messages?.map(({ weight }) => weight)
  t.same(weights(make(content, {}, 'sft', repair)), [0, 0, 0, 1, 0, 1])
  t.same(weights(make(content)), [0, 1, 0, 1, 0, 1], 'a trace worth keeping is learned whole')
  const only = contentOf({
    rendered_input: rendered_input.slice(0, 2),
    tool_calls: [failed],
  } as unknown as Call)
  t.same(make(only, {}, 'sft', repair), ['no_trainable_turn'])
})

t.test('arguments are strings for openai and objects for trl', async (t) => {
  const content = contentOf({ rendered_input: [user(), calling('f', { b: 1, a: [2] })] })
  const argsOf = (rows: unknown[]) =>
    (rows as Training[])[0]?.messages?.[1]?.tool_calls?.[0]?.function.arguments
  t.equal(argsOf(make(content)), '{"a":[2],"b":1}')
  t.same(argsOf(make(content, { format: 'trl' })), { a: [2], b: 1 })
})

t.test('sharegpt alternates strictly or is refused', async (t) => {
  const options = { format: 'sharegpt' } as const
  const system = { role: 'system', content: 'Be brief.' }
  const whole = [system, user(), calling('f', { a: 1 }), result('x'), assistant()]
  t.same(make(contentOf({ rendered_input: whole }), options), [
    {
      conversations: [
        { from: 'human', value: 'Where is my order?', weight: 0 },
        { from: 'function_call', value: '{"arguments":{"a":1},"name":"f"}', weight: 1 },
        { from: 'observation', value: 'x', weight: 0 },
        { from: 'gpt', value: 'On its way.', weight: 1 },
      ],
      system: 'Be brief.',
      tools: '[{"function":{"name":"f","parameters":{"type":"object"}},"type":"function"}]',
    },
  ])
  const refused = (messages: readonly object[]) =>
    make(contentOf({ rendered_input: messages } as Call), options)
  t.same(refused([user(), user(), assistant()]), ['sharegpt.alternation'])
  t.same(refused([user(), assistant(), assistant()]), ['sharegpt.alternation'])
  t.same(refused([user(), system, assistant()]), ['sharegpt.unsupported'])
  t.same(refused([user(), { ...calling('f', {}), content: 'Let me see.' }]), [
    'sharegpt.unsupported',
  ])
})

t.test('a corrected output takes the place of the last turn', async (t) => {
  const corrected = (rendered_input: object[], output: object = {}) => {
    const content = contentOf({ rendered_input, output } as Call)
    const of = { annotation_id: 'a' }
    const [row] = make({ ...content, corrected_output: 'Tomorrow.' }, {}, 'sft', of)
    return typeof row === 'string'
      ? row
      : row?.messages?.map(({ role, content, weight }) => [role, content, weight])
  }
  const asked = ['user', 'Where is my order?', 0]
  const answer = ['assistant', 'Tomorrow.', 1]
  t.same(corrected([user()], { content: 'No idea.' }), [asked, answer])
  t.same(corrected([user(), assistant(), user('Thanks, bye')]), [asked, answer], 'a goodbye goes')
  t.same(corrected([user(), calling('find', {})]), [asked, answer], 'a call may be what was wrong')
  t.same(
    corrected([user(), calling('find', {}), result('x')]),
    [asked, ['assistant', null, 1], ['tool', 'x', 0], answer],
    'a call that was answered is none: the output was missing',
  )
  t.same(corrected([user()]), [asked, answer])
  t.same(corrected([]), 'invalid.start')
  t.same(
    corrected([user(), assistant('Which?'), user('7')], { content: 'Lost.' }),
    [asked, ['assistant', 'Which?', 1], ['user', '7', 0], answer],
    'earlier turns stay',
  )
})

t.test('of rows a call that of the output has the corrected one', async (t) => {
  const recipe = completeRecipe('sft', null, { options: { rows: 'call' } })
  const first = { rendered_input: [user()], output: { content: 'Which order?' } }
  const last = {
    rendered_input: [user(), assistant('Which order?'), user('7')],
    output: { content: 'No idea.' },
  }
  const side = { rendered_input: [user('Summarize')], output: { content: 'Asks for 7' } }
  const content = { ...contentOf(first, last, side), corrected_output: 'Tomorrow.' }
  const of = { ...candidate, annotation_id: 'a' }
  const rows = openRowMaker(recipe)(of, content) as Row[]
  const told = rows.map((row) => [
    (JSON.parse(row.training) as Training).messages?.at(-1)?.content,
    (JSON.parse(provenanceText(of, row, recipe)) as { annotation_id: unknown }).annotation_id,
  ])
  t.same(told, [
    ['Which order?', null],
    ['Tomorrow.', 'a'],
    ['Asks for 7', null],
  ])
})

t.test('kto labels the last turn by how the trace did', async (t) => {
  const content = contentOf({ rendered_input: [user(), assistant('a'), user('b'), assistant('c')] })
  const [good] = make(content, {}, 'kto') as [Training]
  t.same(
    good.prompt?.map((m) => [m.content, m.weight]),
    [
      ['Where is my order?', 0],
      ['a', 0],
      ['b', 0],
    ],
  )
  t.same(good.completion, [{ role: 'assistant', content: 'c', weight: 1 }])
  t.equal(good.label, true)
  const [bad] = make(content, {}, 'kto', { eval_verdict: 'fail' }) as [Training]
  t.equal(bad.label, false)
})

t.test('the completion of kto is what the model said since anybody else spoke', async (t) => {
  const split = (rendered_input: object[], options: Partial<Options> = {}) => {
    const [row] = make(contentOf({ rendered_input } as Call), options, 'kto') as [Training]
    const roles = (messages: readonly TrainedMessage[] = []) => messages.map(({ role }) => role)
    return [roles(row.prompt), roles(row.completion), row.completion?.map(({ weight }) => weight)]
  }
  const found = [user(), calling('find', {}), result('shipped')]
  t.same(split([...found, assistant()]), [['user', 'assistant', 'tool'], ['assistant'], [1]])
  t.same(split(found), [['user'], ['assistant'], [1]], 'a call may be a completion')
  t.same(split([user(), assistant('Let me see.'), calling('find', {}), result('x')]), [
    ['user'],
    ['assistant', 'assistant'],
    [1, 1],
  ])
  t.same(split([...found, assistant('Shipped.'), assistant('Bye!')]), [
    ['user', 'assistant', 'tool'],
    ['assistant', 'assistant'],
    [1, 1],
  ])
  t.same(
    split([user(), assistant('Shipped.'), assistant('Bye!')], { rows: 'call' }),
    [['user', 'assistant'], ['assistant'], [1]],
    'of a row a call it is what that call gave',
  )
})

t.test('the row hash is the SHA-256 of the canonical JSON of the training part', async (t) => {
  const content = contentOf({
    rendered_input: [
      user('é \u001b[1m "q"'),
      calling('f', { 10: 1, 9: 1e21, a: 0.1 }),
      result('ok'),
      assistant(),
    ],
    tools: [tool('f', { type: 'object', properties: { z: {}, a: {} } })],
  })
  const all = [
    ['sft', 'openai'],
    ['sft', 'trl'],
    ['sft', 'sharegpt'],
    ['kto', 'trl'],
  ] as const
  for (const [type, format] of all) {
    const recipe = completeRecipe(type, null, { options: { format } })
    const [row] = openRowMaker(recipe)(candidate, content) as [Row]
    const text = canonicalize(JSON.parse(row.training)) as string
    t.equal(row.training, text, `${type} ${format}`)
    t.equal(row.hash.toString('hex'), createHash('sha256').update(text).digest('hex'))
  }
})

t.test('equal conversations give equal rows, whatever their ids', async (t) => {
  const conversation = (id: string) =>
    contentOf({ rendered_input: [user(), calling('f', '{}', id), result('ok', id), assistant()] })
  t.same(make(conversation('call_x9')), make(conversation('toolu_17')))
})

t.test('provenance says where a row is from', async (t) => {
  const recipe = completeRecipe('sft', null, {})
  const [row] = openRowMaker(recipe)(
    candidate,
    contentOf({ rendered_input: [user(), assistant()] }),
  ) as [Row]
  t.same(JSON.parse(provenanceText(candidate, row, recipe)), {
    trace_id: 'trace-1',
    agent_name: 'agent',
    manifest_hash: null,
    verdict: 'keep',
    scores: { reward: 1 },
    task_id: 'task',
    session_id: null,
    repaired: false,
    annotation_id: null,
    tools_from: 'seen',
    row_id: row.hash.toString('hex').slice(0, 32),
  })
})

t.test('training JSON is canonical JSON for every JSON value', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      t.equal(trainingJson(value), canonicalize(value))
    }),
  )
})
