import type { Component, Manifest } from '../../jobs/rules/manifests/manifest.ts'
import { component, manifest, tool } from './manifests.ts'
import fc from './property.ts'

/** Two manifests between which tools and the output contract change in every way there is a rule for. */
export function manifestPairs(): fc.Arbitrary<{ before: Manifest; after: Manifest }> {
  return fc.tuple(toolPair('a'), toolPair('b'), toolPair('c'), contractPair()).map((pairs) => ({
    before: manifest(...pairs.flatMap(({ before }) => before)),
    after: manifest(...pairs.flatMap(({ after }) => after)),
  }))
}

/** Traces as clients send them: calls of those tools, in every style of recording them. */
export function sentTraces(): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .record({
      turns: fc.array(fc.array(calls(), { minLength: 1, maxLength: 2 }), { maxLength: 3 }),
      earlier: fc.option(calls(), { freq: 2 }),
      answered: fc.constantFrom(null, '{"reply":"a"}', '{"reply": "yes"}\n', '{"note":1}', 'no'),
      answer: fc.constantFrom('{"reply": "yes", "mood": 1}', '{"reply": "yes"}', '', 'yes'),
      recorded: usually('records', 'messages', 'single', 'parts', 'items', 'spans'),
      inText: fc.boolean(),
      ids: fc.constantFrom('own', 'none', 'same'),
      told: fc.constantFrom('to each', 'at the end', 'never'),
      inParts: fc.boolean(),
      offered: fc.constantFrom('nested', 'flat', 'none'),
    })
    .map(traceFrom)
}

function toolPair(name: string): fc.Arbitrary<Pair> {
  const own = { [`own_${name}`]: BOOLEAN }
  const before = [tool(name, { ...OLD, ...own })]
  const change = fc.record({
    order: fc.boolean(),
    note: fc.boolean(),
    currency: fc.constantFrom(null, { default: 'usd' }, { const: 'usd' }, { enum: ['usd'] }),
    amount: fc.boolean(),
    tags: fc.boolean(),
    count: fc.boolean(),
    limit: fc.boolean(),
    isClosed: fc.boolean(),
  })
  return usually<Component[] | null>(
    before,
    [tool(`new_${name}`, { ...OLD, ...own })],
    null,
    [],
  ).chain((after) =>
    after
      ? fc.constant({ before, after })
      : change.map((changed) => ({ before, after: [changedTool(name, own, changed)] })),
  )
}

function changedTool(name: string, own: object, changed: Change): Component {
  const { order, note, amount, ...kept } = OLD
  const properties = {
    ...kept,
    ...own,
    ...(changed.order ? { order_id: order } : { order }),
    ...(!changed.note && { note }),
    ...(changed.currency && { currency: changed.currency }),
    amount: changed.amount ? { type: 'string' } : amount,
    ...(changed.tags && { tags: { type: 'array', items: { type: 'string' } } }),
    ...(changed.count && { count: { type: 'integer' } }),
    ...(changed.limit && { limit: { type: 'integer', maximum: 50 } }),
  }
  const required = [
    ...(changed.order ? ['order_id'] : []),
    ...(changed.currency ? ['currency'] : []),
  ]
  return tool(name, properties, required, { additionalProperties: !changed.isClosed })
}

function contractPair(): fc.Arbitrary<Pair> {
  const contract = (properties: object, required: string[]) => [
    component('output_contract', 'answer', {
      schema: { type: 'object', properties, required },
    }),
  ]
  const before = contract({ reply: TEXT }, ['reply'])
  const after = contract({ answer: TEXT, tone: { default: 'calm' } }, ['answer', 'tone'])
  return fc.constantFrom({ before: [], after: [] }, { before, after: before }, { before, after })
}

function calls(): fc.Arbitrary<Call> {
  const args = fc.record(
    {
      order: fc.constantFrom('o1', 'o2'),
      note: fc.boolean(),
      amount: fc.nat(9),
      tags: fc.constant('x'),
      count: usually('7', '12', '3', '007'),
      limit: usually(10, 20, 30, 99),
    },
    { requiredKeys: ['order'] },
  )
  return fc.record({ name: usually('a', 'b', 'c', 'unknown'), args })
}

function traceFrom(sent: Sent): Record<string, unknown> {
  const { turns, earlier, told, offered } = sent
  const speaker = openSpeaker(sent)
  const messages: object[] = [{ role: 'user', content: 'first' }]
  if (earlier && sent.recorded !== 'spans') messages.push(...speaker.turn([earlier]).messages)
  if (sent.answered !== null) messages.push({ role: 'assistant', content: sent.answered })
  messages.push({ role: 'user', content: 'then' })
  const llm_calls: object[] = []
  const speak = (turn: Turn) => {
    const rendered_input = told === 'to each' ? [...messages] : []
    llm_calls.push({ rendered_input, tools: OFFERED[offered], ...turn.call })
    messages.push(...turn.messages)
  }
  for (const made of turns) {
    speak(speaker.turn(made))
    llm_calls.push({ agent_name: 'helper', tool_calls: made.map(toRecord) })
  }
  speak(speaker.answer())
  const atTheEnd = { rendered_input: messages, tools: OFFERED[offered] }
  return {
    agent_name: 'support',
    llm_calls: told === 'at the end' ? [atTheEnd] : llm_calls,
    spans: sent.recorded === 'spans' ? turns.flat().map(toSpan) : [],
  }
}

/** Says turns in the style of a trace. */
function openSpeaker({ recorded, inText, ids, answer, inParts }: Sent) {
  let count = 0
  const nextId = () => ({ own: `c${++count}`, same: 'c', none: undefined })[ids]
  const toCalled = ({ name, args }: Call) => ({
    name,
    arguments: inText ? JSON.stringify(args, null, 1) : args,
  })
  const askedIn = (made: readonly (Call & { id: string | undefined })[]) => {
    switch (recorded) {
      case 'single':
        return { function_call: made.map(toCalled)[0] }
      case 'parts':
        return {
          content: made.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
        }
      case 'items':
        return { output: made.map((call) => ({ type: 'function_call', ...toCalled(call) })) }
      case 'records':
      case 'messages':
      case 'spans':
        return { tool_calls: made.map((call) => ({ id: call.id, function: toCalled(call) })) }
    }
  }
  return {
    turn(given: readonly Call[]): Turn {
      if (recorded === 'spans') return { call: {}, messages: [] }
      const made = recorded === 'single' ? given.slice(0, 1) : given
      const numbered = made.map((call) => ({ ...call, id: nextId() }))
      const asked = askedIn(numbered)
      const role = recorded === 'single' ? 'function' : 'tool'
      const answers = numbered.map(({ id, name }) => ({
        role,
        tool_call_id: id,
        name,
        content: 'lookup a b c',
      }))
      return {
        call: {
          output: recorded === 'records' ? {} : asked,
          tool_calls: recorded === 'messages' ? [] : numbered.map(toRecord),
        },
        messages: [{ role: 'assistant', ...asked }, ...answers],
      }
    },
    answer(): Turn {
      const parts = [answer.slice(0, 4), answer.slice(4)].map((text) => ({ type: 'text', text }))
      const output = { content: inParts ? parts : answer }
      return { call: { output }, messages: [{ role: 'assistant', ...output }] }
    },
  }
}

function toRecord({ id, name, args }: Call & { id?: string | undefined }) {
  return { id, tool_name: name, args, result: { order: 'o1' } }
}

function toSpan({ name, args }: Call) {
  return { span_type: 'tool', name, attributes: { args } }
}

/** The last of the values is rare. */
function usually<const T>(...values: [T, ...T[]]): fc.Arbitrary<T> {
  const weight = (value: T) => (value === values.at(-1) ? 1 : 8)
  return fc.oneof(
    ...values.map((value) => ({ arbitrary: fc.constant(value), weight: weight(value) })),
  )
}

const TEXT = { type: 'string' }
const BOOLEAN = { type: 'boolean' }
/** Parameters of every tool before the change. */
const OLD = {
  order: { type: 'string', maxLength: 40 },
  note: { type: 'boolean', title: 'note' },
  amount: { type: 'integer' },
  tags: { type: 'string', maxLength: 9 },
  count: { type: 'string', maxLength: 8 },
  limit: { type: 'integer', minimum: 0 },
}
const OFFERED = {
  nested: [
    { type: 'function', function: { name: 'a', description: 'first', parameters: {} } },
    { type: 'function', function: { name: 'unknown', parameters: {} } },
    { type: 'web_search' },
  ],
  flat: [{ name: 'b', input_schema: {} }],
  none: [],
}

interface Pair {
  readonly before: Component[]
  readonly after: Component[]
}
interface Change {
  readonly order: boolean
  readonly note: boolean
  readonly currency: object | null
  readonly amount: boolean
  readonly tags: boolean
  readonly count: boolean
  readonly limit: boolean
  readonly isClosed: boolean
}
interface Call {
  readonly name: string
  readonly args: object
}
interface Turn {
  readonly call: object
  readonly messages: readonly object[]
}
interface Sent {
  readonly turns: readonly (readonly Call[])[]
  /** A call of the session before the trace. */
  readonly earlier: Call | null
  /** What the agent answered before the trace. */
  readonly answered: string | null
  readonly answer: string
  readonly recorded: 'records' | 'messages' | 'single' | 'parts' | 'items' | 'spans'
  readonly inText: boolean
  readonly ids: 'own' | 'none' | 'same'
  readonly told: 'to each' | 'at the end' | 'never'
  readonly inParts: boolean
  readonly offered: keyof typeof OFFERED
}
