import t from 'tap'
import { completeRecipe, ROW_FORMATS } from '../../../../jobs/rules/datasets/recipe.ts'
import type { Options, Reasoning, RowFormat } from '../../../../jobs/rules/datasets/recipe.ts'
import { openRowMaker } from '../../../../jobs/rules/datasets/rows.ts'
import type { Row } from '../../../../jobs/rules/datasets/row-writer.ts'
import { manifestTools } from '../../../../jobs/rules/datasets/tools.ts'
import type { Component } from '../../../../jobs/rules/manifests/manifest.ts'
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
import type { Call, Training } from '../../../support/training-rows.ts'

t.test('what came with weight 0 keeps it in every format and type', async (t) => {
  const unlearned = { ...assistant('Never learn this.'), weight: 0 }
  const said = [user(), unlearned, user('And?'), { ...assistant('Learn this.'), weight: 1 }]
  const content = contentOf({ rendered_input: said })
  const weightsOf = (row: unknown) => {
    const { messages, conversations } = row as Training
    return (messages ?? conversations ?? []).map(({ weight }) => weight)
  }
  for (const format of ROW_FORMATS) {
    t.same(weightsOf(make(content, { format })[0]), [0, 0, 0, 1], format)
  }
  const output = { content: 'Never learn this.', weight: 0 }
  const unlearnable = contentOf({ rendered_input: [user()], output })
  t.same(make(unlearnable), ['no_trainable_turn'])
  t.same(make(unlearnable, {}, 'kto'), ['no_trainable_turn'])
  t.same(make(content, { rows: 'call' }, 'kto').length, 1)
  const last = contentOf({ rendered_input: [...said, user('Bye?'), unlearned] })
  t.same(weightsOf(make(last)[0]), [0, 0, 0, 1, 0, 0], 'the last turn need not be learned')
  t.same(make(last, { rows: 'call' }), ['no_trainable_turn'])
})

t.test('only no weight, null and numbers above 0 let a turn be learned', async (t) => {
  const weightOf = (weight: unknown) => {
    const rendered_input = [user(), { ...assistant(), weight }, user(), assistant('Bye')]
    const [row] = make(contentOf({ rendered_input })) as [Training]
    return row.messages?.[1]?.weight
  }
  for (const weight of [undefined, null, 1, 0.5]) t.equal(weightOf(weight), 1)
  for (const weight of [0, -1, '0', '1', false, {}]) t.equal(weightOf(weight), 0)
})

t.test('what only some messages hold is written as each format can', async (t) => {
  const parts = [
    { type: 'text', text: 'Two' },
    { type: 'text', text: 'lines' },
  ]
  const rendered_input = [
    { role: 'developer', content: 'Be kind.' },
    user(parts),
    { ...assistant(null), refusal: 'I cannot help.', reasoning_content: 'Is it allowed? No.' },
  ]
  const rowIn = (format: RowFormat, reasoning: Reasoning = 'drop') =>
    make(contentOf({ rendered_input }), { format, reasoning })[0] as Training
  const turn = { role: 'assistant', content: null, refusal: 'I cannot help.', weight: 1 }
  const thought = { reasoning_content: 'Is it allowed? No.' }
  t.same(rowIn('openai').messages, [
    { role: 'developer', content: 'Be kind.', weight: 0 },
    { role: 'user', content: parts, weight: 0 },
    turn,
  ])
  t.same(rowIn('openai', 'keep').messages?.at(-1), { ...turn, ...thought })
  const plain = { role: 'assistant', content: 'I cannot help.', weight: 1 }
  t.same(rowIn('trl').messages, [
    { role: 'system', content: 'Be kind.', weight: 0 },
    { role: 'user', content: 'Two\nlines', weight: 0 },
    plain,
  ])
  t.same(rowIn('trl', 'keep').messages?.at(-1), { ...plain, ...thought })
  t.match(rowIn('sharegpt', 'keep'), {
    system: 'Be kind.',
    conversations: [
      { from: 'human', value: 'Two\nlines' },
      { from: 'gpt', value: 'I cannot help.', weight: 1 },
    ],
  })
})

t.test('what is no text stays for openai and is refused elsewhere', async (t) => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const asked = [user([{ type: 'text', text: 'What is it?' }, image]), assistant('A cat.')]
  const content = contentOf({ rendered_input: asked })
  const [row] = make(content) as [Training]
  t.same(row.messages?.[0]?.content, [{ type: 'text', text: 'What is it?' }, image])
  t.same(make(content, { format: 'trl' }), ['invalid.content'])
  t.same(make(content, { format: 'sharegpt' }), ['invalid.content'])
})

t.test('what a row does not tell is counted', async (t) => {
  const rendered_input = [
    { ...user(), name: 'Ann', cache: true, empty: [], nothing: null },
    { ...assistant(), reasoning_content: 'Hm.' },
    user('Thanks'),
  ]
  const lossesIn = (options: Partial<Options>) => {
    const recipe = completeRecipe('sft', null, { options })
    const [row] = openRowMaker(recipe)(candidate, contentOf({ rendered_input })) as [Row]
    return row.losses
  }
  const one = { members_dropped: 1, messages_dropped: 1, reasoning_dropped: 1 }
  t.same(lossesIn({}), one)
  t.same(lossesIn({ reasoning: 'keep' }), { ...one, reasoning_dropped: 0 })
  t.same(lossesIn({ format: 'sharegpt', reasoning: 'keep' }), one)
})

t.test('members that hold what a row has no place for are counted', async (t) => {
  const said = { name: 'find', arguments: '{}' }
  const others: object[] = [
    { ...assistant(), reasoning_content: ['r'] },
    { ...assistant(), refusal: { text: 'No.' } },
    { ...assistant(), function_call: 'auto' },
    { ...calling('find', '{}'), function_call: said },
    { ...user(), reasoning_content: 'Hm.' },
    { ...user(), name: 7 },
  ]
  const places: object[] = [
    { ...assistant(), reasoning_content: 'Hm.', refusal: '', name: 'Bob', tool_calls: [] },
    { role: 'assistant', content: null, tool_calls: [], function_call: said },
    { ...calling('find', '{}'), function_call: null, refusal: null },
  ]
  const countOf = (message: object) => {
    const rendered_input = [user(), message, assistant()]
    const recipe = completeRecipe('sft', null, { options: { reasoning: 'keep' } })
    const content = contentOf({ rendered_input } as Call)
    const [row] = openRowMaker(recipe)(candidate, content) as [Row]
    return row.losses.members_dropped
  }
  for (const message of others) t.equal(countOf(message), 1, JSON.stringify(message))
  for (const message of places) t.equal(countOf(message), 0, JSON.stringify(message))
})

t.test('tools come from the calls, else from the manifest, else from what was seen', async (t) => {
  const declared = manifestTools([
    component('find', { description: 'Finds', inputSchema: { type: 'object', required: ['id'] } }),
    component('hashed', { input_schema_hash: 'abc' }),
  ])
  const rowOf = (args: object, tools: object[] = []) => {
    const rendered_input = [user(), calling('find', args), result('x'), assistant()]
    const content = contentOf({ rendered_input, tools } as Call)
    const [row] = openRowMaker(completeRecipe('sft', null, {}))(candidate, content, declared)
    if (!row || 'reason' in row) return row?.reason
    return [row.tools_from, (JSON.parse(row.training) as Training).tools]
  }
  const find = {
    name: 'find',
    description: 'Finds',
    parameters: { type: 'object', required: ['id'] },
  }
  t.same(rowOf({ id: 1 }), [
    'manifest',
    [{ type: 'function', function: find }, tool('hashed', { type: 'object' })],
  ])
  t.same(rowOf({}), 'invalid.arguments', 'a schema of the manifest holds')
  const own = tool('find', { type: 'object' })
  t.same(rowOf({}, [own]), ['calls', [own]])
  t.same(rowOf({}, [own, { type: 'function', function: { name: 7 } }]), ['calls', [own]])
  t.equal(manifestTools([component('hashed', {})]), '[]', 'without schemas it tells nothing')
})

t.test('a tool that the manifest does not know is added, and takes none away', async (t) => {
  const declared = manifestTools([component('find', { parameters: { type: 'object' } })])
  const rendered_input = [user(), calling('other', {}), result('x'), assistant()]
  const rowsOf = openRowMaker(completeRecipe('sft', null, {}))
  const [row] = rowsOf(candidate, contentOf({ rendered_input }), declared) as [Row]
  const { tools } = JSON.parse(row.training) as Training
  t.same(tools, [tool('find', { type: 'object' }), tool('other', { type: 'object' })])
  t.equal(row.tools_from, 'manifest')
})

function component(component_name: string, schema_json: Record<string, unknown>): Component {
  const component_type = 'tool'
  return { component_type, component_name, component_version: null, content_hash: '', schema_json }
}
